// Package dao has the types that REST answers decode into, for clients in Go such as the shim's tests.
//
// The package owns the Go names, which clients of YuniKorn use. It leaves the answers to Canopy: docs/REST.md describes
// them, with fields that these types do not have. Quantities are in the unit of the scheduler interface; times are in
// nanoseconds since 1970.
//
// Invariant: a field is in answers of Canopy under the name of its tag, unless docs/YUNIKORN.md lists it as absent;
// then it stays zero.
package dao

import "net/http"

// YAPIError is the body of an answer that is no success.
type YAPIError struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message,omitempty"`
	Description string `json:"description,omitempty"`
}

// NewYAPIError is the body for an error. err may be nil.
func NewYAPIError(err error, statusCode int, message string) *YAPIError {
	e := &YAPIError{StatusCode: statusCode, Message: message, Description: http.StatusText(statusCode)}
	if err != nil {
		e.Description = err.Error()
	}
	return e
}
