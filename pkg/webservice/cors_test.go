package webservice_test

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

const pageOrigin = "https://page.example.org"

func TestOrigins_OnlyThoseOfTheOptionsMayRead(t *testing.T) {
	c := startCluster(t, clusterYAML)
	for _, x := range []struct {
		allowed            []string
		origin, want, vary string
	}{
		{nil, pageOrigin, "", ""},
		{[]string{pageOrigin}, pageOrigin, pageOrigin, "Origin"},
		{[]string{"http://other.example.org:8080", pageOrigin}, pageOrigin, pageOrigin, "Origin"},
		{[]string{pageOrigin}, "https://evil.example.org", "", "Origin"},
		{[]string{pageOrigin}, "https://page.example.org.evil.example", "", "Origin"},
		{[]string{pageOrigin}, "null", "", "Origin"},
		{[]string{pageOrigin}, "", "", "Origin"},
		{[]string{"*"}, "https://evil.example.org", "*", ""},
		{[]string{"*"}, "", "*", ""},
	} {
		opt := webservice.Options{Access: webservice.Access{Origins: x.allowed},
			Sources: webservice.Sources{Metrics: http.NotFoundHandler()}}
		for _, target := range []string{"/ws/v1/partitions", "/ws/v1/partition/none/queues", "/ws/v1/none", "/metrics",
			"/ws/v1/partitions/"} {
			h := request(c, opt, http.MethodGet, target, "Origin", x.origin).Header()
			assert.Equal(t, h.Get("Access-Control-Allow-Origin"), x.want, "%v %s %s", x.allowed, x.origin, target)
			assert.Equal(t, strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin"), x.vary != "", "%v %s", x.allowed,
				target)
			assert.Equal(t, h.Get("Access-Control-Allow-Credentials"), "")
		}
	}
}

// What a browser asks before a request that no form could send.
func TestOrigins_Preflight(t *testing.T) {
	c := startCluster(t, clusterYAML)
	preflight := func(target, origin string, allowed ...string) http.Header {
		w := request(c, webservice.Options{Access: webservice.Access{Origins: allowed}}, http.MethodOptions, target, "Origin",
			origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Equal(t, w.Body.Len(), 0)
		return w.Header()
	}
	const dryRun = "/ws/v1/partition/default/preemptions/dry-run"
	h := preflight(dryRun, pageOrigin, pageOrigin)
	assert.Equal(t, h.Get("Access-Control-Allow-Origin"), pageOrigin)
	assert.Equal(t, h.Get("Access-Control-Allow-Methods"), "POST, OPTIONS")
	assert.Assert(t, strings.Contains(h.Get("Access-Control-Allow-Headers"), "Content-Type"))
	assert.Equal(t, h.Get("Access-Control-Max-Age"), "600")
	assert.Equal(t, preflight("/ws/v1/partitions", pageOrigin, "*").Get("Access-Control-Allow-Methods"), "GET, OPTIONS")
	for _, allowed := range [][]string{nil, {"https://other.example.org"}} {
		h = preflight(dryRun, pageOrigin, allowed...)
		assert.Equal(t, h.Get("Allow"), "POST, OPTIONS")
		for name := range h {
			assert.Assert(t, !strings.HasPrefix(name, "Access-Control-"), "%s", name)
		}
	}
}

func TestCheckOrigin_NamesWhatIsWrong(t *testing.T) {
	for _, origin := range []string{"*", "http://a", "https://page.example.org:8443", "http://[::1]:3000",
		"http://127.0.0.1:4200"} {
		assert.NilError(t, webservice.CheckOrigin(origin))
	}
	for origin, want := range map[string]string{
		"": "http:// or https://", "page.example.org": "http:// or https://", "null": "http:// or https://",
		"ftp://a":    "http:// or https://",
		"https://a/": "use https://a", "https://a/b?c#d": "use https://a", "https://u@a": "no path, user",
		"https://:8443":     "http:// or https://",
		"https://A.example": "use https://a.example", "https://a:443": "use https://a", "http://a:80": "use http://a",
		"http://a b":           "origin",
		"http://*.example.org": "it names one host", "http://a:x": "origin",
	} {
		assert.ErrorContains(t, webservice.CheckOrigin(origin), want)
	}
}
