package metrics_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/metrics"
)

// scrapeOf is the text of an answer.
func scrapeOf(t *testing.T, h http.Handler) string {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	assert.Equal(t, answer.Code, http.StatusOK, answer.Body.String())
	return answer.Body.String()
}

// One answer has the process once, and each scheduler of it with the name of its partition.
func TestGroupHandler_HasTheProcessOnceAndAllPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := busyFixture(t)
		own := metrics.New(metrics.Options{})
		own.SetHASource(func() metrics.HA { return metrics.HA{Leader: true, Epoch: 3} })
		parts := []metrics.Part{{Partition: "default", Metrics: busy.metrics, Cluster: busy.Cluster}}
		h := own.GroupHandler(func() []metrics.Part { return parts })
		text := scrapeOf(t, h)
		lines := strings.Split(text, "\n")
		has := map[string]int{}
		for _, l := range lines {
			has[l]++
		}
		for _, want := range []string{"canopy_ha_leader 1", "canopy_ha_epoch 3", `canopy_config_generation{partition="default"} 7`, `canopy_config_rejections_total{partition="default",source="file"} 2`} {
			assert.Equal(t, has[want], 1, "%s is not in\n%s", want, text)
		}
		families := map[string]int{}
		for _, l := range lines {
			if name, ok := strings.CutPrefix(l, "# TYPE "); ok {
				families[strings.Fields(name)[0]]++
			}
			assert.Assert(t, !regexp.MustCompile(`^canopy_(log|tls|ha)_.*partition="default"`).MatchString(l), l)
		}
		for name, n := range families {
			assert.Equal(t, n, 1, name)
		}
		assert.Equal(t, families["go_goroutines"], 1)
		labelled := 0
		for _, l := range ours(busy.scrape().Body.String()) {
			l = strings.TrimSuffix(l, "\n")
			if strings.Contains(l, `partition="`) && !strings.HasPrefix(l, "canopy_ha_") {
				labelled++
				assert.Equal(t, has[l], 1, "%s is not in the answer", l)
			}
		}
		assert.Assert(t, labelled > 50, "%d", labelled)

		parts = nil // the partition is led elsewhere now
		time.Sleep(time.Minute)
		text = scrapeOf(t, h)
		assert.Assert(t, !strings.Contains(text, `partition="default"`), text)
		assert.Assert(t, strings.Contains(text, "\ncanopy_ha_leader 1\n"), text)
	})
}

// Partitions that do not answer delay a scrape by the time of one, which the client says, and are missing but for their counters.
func TestGroupHandler_PartitionsThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		var parts []metrics.Part
		for _, name := range []string{"p1", "p2", "p3"} {
			w := busyFixture(t)
			if name != "p3" {
				l, _ := w.Partition("default")
				w.blockDelivery.Store(&release)
				l.Send(addApplication("more", "root.prod"))
				l.Send(addApplication("more", "root.prod"))
			}
			parts = append(parts, metrics.Part{Partition: name, Metrics: w.metrics, Cluster: w.Cluster})
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		request.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", "5")
		answer, began := httptest.NewRecorder(), time.Now()
		metrics.New(metrics.Options{}).GroupHandler(func() []metrics.Part { return parts }).ServeHTTP(answer, request)
		assert.Equal(t, time.Since(began), 4*time.Second)
		assert.Equal(t, answer.Code, http.StatusOK)
		assert.Equal(t, strings.Count(answer.Body.String(), "\ncanopy_asks_pending{partition=\"default\"}"), 1, "of p3 only")
	})
}

// An error of a collector is answered, and logged.
func TestGroupHandler_ErrorsAreLogged(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	m := metrics.New(metrics.Options{Log: zap.New(core)})
	m.Register(failingCollector{})
	answer := httptest.NewRecorder()
	m.GroupHandler(func() []metrics.Part { return nil }).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	assert.Equal(t, answer.Code, http.StatusInternalServerError)
	assert.Assert(t, strings.Contains(answer.Body.String(), "no disk"))
	assert.Equal(t, logs.FilterMessage("a scrape failed").Len(), 1)
}

type failingCollector struct{}

func (failingCollector) Describe(chan<- *prometheus.Desc) {}
func (failingCollector) Collect(to chan<- prometheus.Metric) {
	err := errors.New("no disk")
	to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}
