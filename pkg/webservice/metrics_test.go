package webservice_test

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// The answer of Options.Metrics is passed on unchanged: it is not compressed again.
func TestMetrics_AnswerIsNotCompressedTwice(t *testing.T) {
	c := startCluster(t, clusterYAML)
	text := strings.Repeat("go_goroutines 7\n", 1000)
	opt := webservice.Options{Sources: webservice.Sources{Metrics: http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = w.Write([]byte(text))
	})}}
	for _, path := range []string{"/metrics", "/ws/v1/metrics"} {
		w := request(c, opt, http.MethodGet, path, "Accept-Encoding", "gzip")
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Equal(t, w.Body.String(), text)
		assert.Equal(t, w.Header().Get("Content-Encoding"), "")
		assert.Equal(t, request(c, opt, http.MethodPost, path).Code, http.StatusMethodNotAllowed)
		assert.Equal(t, request(c, opt, http.MethodOptions, path).Header().Get("Allow"), "GET, OPTIONS")
		assert.Equal(t, fetch(c, path).Code, http.StatusNotFound, "without Options.Metrics")
	}
}
