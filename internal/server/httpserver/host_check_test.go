package httpserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestCheckHost_AnswersForOwnNamesOnly(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "state") })
	exempt := []string{"/healthz", "/metrics"}
	send := func(names []string, host, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = host
		w := httptest.NewRecorder()
		CheckHost(handler, names, exempt, "--http-host").ServeHTTP(w, r)
		return w
	}
	for _, host := range []string{
		"", "localhost", "LOCALHOST:9080", "localhost.", "127.0.0.1", "127.0.0.1:9080", "10.1.2.3:80", "[::1]", "[::1]:9080",
		"[fe80::1%25eth0]:80",
		"canopy.example.org", "Canopy.Example.org:9080", "canopy.example.org.:443", "second",
	} {
		w := send([]string{"canopy.example.org", "second"}, host, "/state")
		assert.Equal(t, w.Code, http.StatusOK, host)
		assert.Equal(t, w.Body.String(), "state", host)
	}
	for _, host := range []string{
		"evil.example", "evil.example:9080", "localhost.evil.example", "127.0.0.1.evil.example",
		"canopy.example.org.evil.example", "a.canopy.example.org",
		"localhost:9080:1", "127.1", "0x7f000001", "2130706433", "[evil.example]", "..", "xlocalhost",
	} {
		w := send([]string{"canopy.example.org", "second"}, host, "/state")
		assert.Equal(t, w.Code, http.StatusMisdirectedRequest, host)
		assert.Assert(t, strings.Contains(w.Body.String(), "--http-host allows a name"), w.Body)
		assert.Assert(t, !strings.Contains(w.Body.String(), "state\n") && w.Header().Get("Content-Type") == jsonType)
		assert.Equal(t, send([]string{"a", "*"}, host, "/state").Code, http.StatusOK, host)
		for _, path := range exempt {
			assert.Equal(t, send(nil, host, path).Code, http.StatusOK, "%s %s", host, path)
		}
		for _, path := range []string{"/healthz/", "/metrics/x", "//healthz", "/state?/healthz"} {
			assert.Equal(t, send(nil, host, path).Code, http.StatusMisdirectedRequest, "%s %s", host, path)
		}
	}
	w := send(nil, strings.Repeat("a", 1000), "/state")
	assert.Assert(t, w.Body.Len() < 1000, w.Body)
}

func TestCheckHostName_NamesWhatIsWrong(t *testing.T) {
	for _, name := range []string{"*", "canopy", "canopy.example.org", "canopy_1-x", "Canopy"} {
		assert.NilError(t, CheckHostName(name))
	}
	for _, name := range []string{"", "canopy:9080", "http://canopy", "canopy/", "*.example.org", "a b", "canopy.", "ü"} {
		assert.ErrorContains(t, CheckHostName(name), "host name")
	}
}
