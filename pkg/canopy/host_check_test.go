package canopy_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// The listener answers for its own names only, health and metrics for every name; Handler leaves it to the server
// around it.
func TestHTTP_ListenerAnswersForItsOwnNames(t *testing.T) {
	s, _ := start(t, canopy.Options{HTTP: canopy.HTTP{Address: "localhost:0", HostNames: []string{"proxy.example.org"}}})
	ask := func(host, path string) int {
		r, err := http.NewRequestWithContext(testContext(t), http.MethodGet, "http://"+s.HTTPAddress().String()+path, nil)
		assert.NilError(t, err)
		r.Host, r.Close = host, true
		response, err := http.DefaultClient.Do(r)
		assert.NilError(t, err)
		assert.NilError(t, response.Body.Close())
		return response.StatusCode
	}
	for host, want := range map[string]int{
		"": 200, "localhost:9080": 200, "10.0.0.1": 200, "proxy.example.org": 200, "evil.example": 421,
		"evil.example:9080": 421,
	} {
		assert.Equal(t, ask(host, "/ws/v1/partitions"), want, host)
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/ws/v1/metrics"} {
			assert.Equal(t, ask(host, path), http.StatusOK, "%s %s", host, path)
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://portal.example.org/ws/v1/partitions", nil))
	assert.Equal(t, w.Code, http.StatusOK)
}

func TestHTTP_InvalidNamesAndOriginsAreOptionErrors(t *testing.T) {
	for field, http := range map[string]canopy.HTTP{
		"HTTP.HostNames": {HostNames: []string{"a", "b:80"}}, "HTTP.AllowedOrigins": {AllowedOrigins: []string{"*", "a"}},
	} {
		_, err := canopy.Start(t.Context(), canopy.Options{HTTP: http})
		assert.Assert(t, err != nil && strings.Contains(err.Error(), field), "%v", err)
	}
}

// A program that embeds the scheduler does not serve its profiles from a server of its own.
func TestDebug_NothingIsRegisteredInTheProgram(t *testing.T) {
	start(t, canopy.Options{Debug: true})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile"} {
		_, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, pattern, "", path)
	}
}
