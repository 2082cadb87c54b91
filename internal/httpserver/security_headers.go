package httpserver

import "net/http"

// SetSecurityHeaders sets the headers that every answer has (SEC-14). A handler may replace each of them: a page has a
// Content-Security-Policy of its own.
func SetSecurityHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store") // answers are the state of a moment
	h.Set("X-Frame-Options", "DENY")   // for browsers that do not know frame-ancestors
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// WithSecurityHeaders is h with these headers.
func WithSecurityHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetSecurityHeaders(w.Header())
		h.ServeHTTP(w, r)
	})
}
