package metrics_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// All that is said of a busy cluster. After a change: go test ./pkg/metrics -update, and read
// the diff.
func TestAScrapeInFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		golden.Assert(t, busy(t).said("yunikorn_", "canopy_"), "busy.txt")
	})
}

// Go, the process and the scrapes themselves are there too.
func TestAScrapeHasTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, story)
		w.scrape()
		for _, want := range []string{"go_goroutines ", "process_cpu_seconds_total ", `promhttp_metric_handler_requests_total{code="200"} `} {
			assert.Assert(t, w.said(want) != "", want)
		}
	})
}

// Prometheus packs by default; upstream's answer to that cannot be read (sheet 11.6).
func TestAPackedScrapeIsPackedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busy(t)
		out := w.scrape("Accept-Encoding", "gzip")
		assert.Equal(t, out.Header().Get("Content-Encoding"), "gzip")
		z, err := gzip.NewReader(out.Body)
		assert.NilError(t, err)
		text, err := io.ReadAll(z)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(text), "\ncanopy_asks_pending{partition=\"default\"} 2\n"), "%.300s", text)
	})
}

// What the linter of Prometheus has against names is against upstream's.
func TestTheNamesAreGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		problems, err := promlint.New(busy(t).scrape().Body).Lint()
		assert.NilError(t, err)
		got := map[string]bool{}
		for _, p := range problems {
			got[p.Metric+": "+p.Text] = true
		}
		const gauge = `: non-counter metrics should not have "_total" suffix`
		assert.DeepEqual(t, got, map[string]bool{
			"yunikorn_scheduler_application_total" + gauge:                true,
			"yunikorn_scheduler_vcore_node_usage_total" + gauge:           true,
			"yunikorn_scheduler_memory_node_usage_total" + gauge:          true,
			"yunikorn_scheduler_example_com_gpu_node_usage_total" + gauge: true,
		})
		labels := []string{"partition", "queue", "state", "result", "resource", "right", "range"}
		for _, line := range strings.Split(busy(t).said("yunikorn_", "canopy_"), "\n") {
			for _, label := range strings.Split(between(line, "{", "}"), `",`) {
				name, _, _ := strings.Cut(label, "=")
				assert.Assert(t, name == "" || strings.HasPrefix(line, "#") || slices.Contains(labels, name), line)
			}
		}
	})
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	i := strings.LastIndex(s, to)
	return s[:max(i, 0)]
}

// A partition that is busy with something else is missing, and the rest is said.
func TestAPartitionThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busy(t)
		l, _ := w.Partition("default")
		goOn := make(chan struct{})
		defer close(goOn)
		w.stuck = goOn
		l.Send(join("more", "root.prod"))
		l.Send(join("more", "root.prod"))
		began := time.Now()
		out := w.scrape("X-Prometheus-Scrape-Timeout-Seconds", "10")
		assert.Equal(t, time.Since(began), 8*time.Second)
		assert.Equal(t, out.Code, 200)
		text := out.Body.String()
		for want, there := range map[string]bool{
			"\ncanopy_scrape_failures_total{partition=\"default\"} 1\n":                true,
			"\ncanopy_preemptions_total{partition=\"default\",right=\"priority\"} 1\n": true, // it was said
			"\ncanopy_asks_pending{partition=\"default\"}":                             false,
			"\ncanopy_asks_pending{partition=\"empty\"} 0\n":                           true,
		} {
			assert.Equal(t, strings.Contains(text, want), there, want)
		}
		assert.Equal(t, w.logs.FilterMessage("a partition is missing from a scrape").Len(), 1)
	})
}

func TestHowLongPartitionsAreWaitedFor(t *testing.T) {
	for said, want := range map[string]time.Duration{
		"": 8 * time.Second, "10": 8 * time.Second, "0.5": 400 * time.Millisecond, "-1": 8 * time.Second, "NaN": 8 * time.Second,
		"1e300": 8 * time.Second, "soon": 8 * time.Second,
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", said)
		assert.Equal(t, metrics.PatienceOf(r), want, "%q", said)
	}
}

// A partition that is taken out of the configuration is no failure, and its counts stay.
func TestAPartitionThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, story)
		w.said("canopy_")
		w.configure(story[:strings.Index(story, "  - name: empty")])
		synctest.Wait()
		said := w.said("canopy_")
		assert.Assert(t, strings.Contains(said, "\ncanopy_refusals_total{partition=\"empty\"} 0\n"), said)
		assert.Assert(t, !strings.Contains(said, "\ncanopy_asks_pending{partition=\"empty\"}"), said)
	})
}

// A scheduler that is stopping says what it has said.
func TestAScrapeOfAStoppedScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busy(t)
		w.End()
		text := w.scrape().Body.String()
		for _, want := range []string{"failures_total{partition=\"default\"} 1\n", "failures_total{partition=\"empty\"} 1\n", "submission_total{partition"} {
			assert.Assert(t, strings.Contains(text, want), "%s\n%s", want, text)
		}
	})
}

// Two resources whose names become the same do not spoil a scrape.
func TestResourcesOfLikeNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, story)
		w.tell(scheduler.AddNode{Node: "n", Total: amounts(map[string]resources.Quantity{"a/b": 1, "a.b": 1, "no\xffutf": 1}), Schedulable: true})
		said := w.said("yunikorn_scheduler_a_b_node", "yunikorn_queue_resource", "yunikorn_scheduler_no_utf")
		assert.Equal(t, strings.Count(said, "a_b_node_usage_total{"), 10, said)
		assert.Assert(t, strings.Contains(said, `resource="no_utf"`), said)
	})
}
