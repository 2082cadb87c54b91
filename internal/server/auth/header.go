package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Errors of a request or a call. Their texts do not say which credentials exist.
var (
	// ErrUnauthenticated: the client is not known. HTTP answers with status 401, gRPC with Unauthenticated.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden: the client is known and may not do it. HTTP answers with status 403, gRPC with PermissionDenied.
	ErrForbidden = errors.New("not allowed")
)

// refusal is an ErrUnauthenticated with its reason, for the counts.
type refusal struct {
	reason Reason
	text   string
}

func (r *refusal) Error() string { return ErrUnauthenticated.Error() + ": " + r.text }

func (r *refusal) Unwrap() error { return ErrUnauthenticated }

func malformed(format string, args ...any) error {
	return &refusal{Malformed, fmt.Sprintf(format, args...)}
}

// tokenOf reads the token from the values of the header or metadata authorization (SEC-3): "Bearer TOKEN", or
// "Basic" with the token as the password of any user, which browsers can send. Empty: there is none.
func tokenOf(values []string) (string, error) {
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", malformed("authorization is given %d times", len(values))
	}
	scheme, rest, found := strings.Cut(strings.TrimSpace(values[0]), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case len(values[0]) > 2*MaxToken:
		return "", malformed("authorization has %d bytes", len(values[0]))
	case strings.EqualFold(scheme, "Basic"):
		text, err := base64.StdEncoding.DecodeString(rest)
		user, password, colon := strings.Cut(string(text), ":")
		if err != nil || !colon {
			return "", malformed("authorization Basic is malformed: send base64 of USER:TOKEN")
		}
		_ = user // the name of a token is in the file of credentials
		rest = password
	case !found || !strings.EqualFold(scheme, "Bearer"):
		return "", malformed("authorization has no token: send Bearer TOKEN")
	}
	switch {
	case rest == "":
		return "", malformed("authorization has an empty token")
	case len(rest) > MaxToken:
		return "", malformed("the token has %d bytes", len(rest))
	}
	return rest, nil
}
