package cmdline

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// accessTransport sends the token, and says in words why a server does not let the client in (SEC-15).
type accessTransport struct {
	next  http.RoundTripper
	tls   bool
	token string // empty: none
}

// AccessError says why a server does not let a client in.
type AccessError struct{ text string }

func (e *AccessError) Error() string { return e.text }

// RoundTrip sends a request.
func (t *accessTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if t.tls {
		r.URL.Scheme = "https"
	}
	if t.token != "" {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, connectionError(r.URL.Host, err)
	}
	if response.StatusCode == http.StatusBadRequest && !t.tls {
		return t.checkTLS(r.URL.Host, response)
	}
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		defer response.Body.Close()
		return nil, &AccessError{r.URL.Host + ": " + refusalText(response)}
	}
	return response, nil
}

// checkTLS returns the answer unless it is that of the Go library to a request without TLS on a port with TLS.
func (t *accessTransport) checkTLS(host string, response *http.Response) (*http.Response, error) {
	const beginning = "Client sent an HTTP request to an HTTPS server"
	text := make([]byte, len(beginning))
	n, _ := io.ReadFull(response.Body, text)
	if string(text[:n]) == beginning {
		_ = response.Body.Close()
		return nil, &AccessError{host + " speaks TLS: give --ca-cert with its authority, or --tls"}
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text[:n]), response.Body), response.Body}
	return response, nil
}

// refusalText returns the reason for an answer 401 or 403.
func refusalText(response *http.Response) string {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	var body struct{ Message string }
	if json.Unmarshal(text, &body) != nil || body.Message == "" {
		body.Message = response.Status
	}
	if response.StatusCode == http.StatusUnauthorized {
		return body.Message + credentialsHint
	}
	return body.Message
}

// credentialsHint says how to give credentials.
const credentialsHint = "\nThe server needs credentials: give --token-file (or " + TokenFileVariable +
	"), or --client-cert and --client-key"

// connectionError says in words why there is no connection with TLS. Other errors stay.
func connectionError(host string, err error) error {
	var verification *tls.CertificateVerificationError
	var operation *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &verification):
		return &AccessError{fmt.Sprintf("the certificate of %s is not accepted: %v\nGive the file of its authority with "+
			"--ca-cert", host, verification.Err)}
	case errors.As(err, &record):
		return &AccessError{host + " does not speak TLS: leave out --tls, --ca-cert and --client-cert"}
	case errors.As(err, &operation) && operation.Op == "remote error":
		return &AccessError{fmt.Sprintf("%s refuses the connection: %v; is the certificate of --client-cert the right one?",
			host, operation.Err)}
	}
	return err
}

// plainAccessError replaces an error by why the server does not let the client in, if that is the reason. Other errors,
// and nil, stay as they are.
func plainAccessError(err error) error {
	if refused := new(AccessError); errors.As(err, &refused) {
		return refused
	}
	if err != nil && status.Code(err) == codes.Unauthenticated {
		return fmt.Errorf("%w%s", err, credentialsHint)
	}
	if err != nil && status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "server preface") {
		return fmt.Errorf("%w\nDoes the server speak TLS? Give --ca-cert with its authority, or --tls", err)
	}
	return err
}
