package httpserver

import (
	"encoding/json"
	"fmt"
)

const jsonType = "application/json; charset=UTF-8"

// errorBody is the body of an error, with the keys of all errors of the REST interface (RST-1).
func errorBody(status int, text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("httpserver: " + err.Error()) // every string can be encoded
	}
	return fmt.Sprintf(`{"status_code":%d,"message":%[2]s,"description":%[2]s,"StatusCode":%[1]d,"Message":%[2]s,`+
		`"Description":%[2]s}`, status, quoted)
}
