package httpserver

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
)

// An answer can replace and add to a header without changing those of other answers.
func TestSetSecurityHeaders_ValuesAreNotShared(t *testing.T) {
	first, second := http.Header{}, http.Header{}
	SetSecurityHeaders(first)
	first.Add("Cache-Control", "private")
	first.Set("Content-Security-Policy", "default-src 'self'")
	SetSecurityHeaders(second)
	assert.DeepEqual(t, second.Values("Cache-Control"), []string{"no-store"})
	assert.Equal(t, second.Get("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'")
	for _, h := range securityHeaders {
		assert.Equal(t, h.name, http.CanonicalHeaderKey(h.name))
		assert.Equal(t, cap(h.value), 1)
	}
	assert.Equal(t, testing.AllocsPerRun(100, func() { SetSecurityHeaders(second) }), 0.0)
}
