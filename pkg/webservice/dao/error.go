package dao

// Error answers a request that failed. It has its status and its text under the keys that the core of YuniKorn sends,
// and again under those that its web page reads (RST-1).
type Error struct {
	StatusCode      int    `json:"status_code"`
	Message         string `json:"message"`
	Description     string `json:"description"` // the message
	PageStatusCode  int    `json:"StatusCode"`
	PageMessage     string `json:"Message"`
	PageDescription string `json:"Description"`
}

// NewError is an Error with one text.
func NewError(status int, text string) Error {
	return Error{status, text, text, status, text, text}
}
