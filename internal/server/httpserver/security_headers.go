package httpserver

import "net/http"

// securityHeaders are the headers that every answer has (SEC-14). The values are shared by all answers and are not
// changed.
var securityHeaders = []struct {
	name  string // canonical
	value []string
}{
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"Cache-Control", []string{"no-store"}}, // answers are the state of a moment
	{"X-Frame-Options", []string{"DENY"}},   // for browsers that do not know frame-ancestors
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
}

// SetSecurityHeaders sets the headers that every answer has. A handler may replace each of them by Set: a page has a
// Content-Security-Policy of its own.
func SetSecurityHeaders(h http.Header) {
	for i := range securityHeaders {
		h[securityHeaders[i].name] = securityHeaders[i].value
	}
}

// WithSecurityHeaders is h with these headers.
func WithSecurityHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetSecurityHeaders(w.Header())
		h.ServeHTTP(w, r)
	})
}
