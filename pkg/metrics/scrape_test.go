package metrics_test

import (
	"compress/gzip"
	"fmt"
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

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// All values of a busy cluster. To renew the golden file: go test ./pkg/metrics -update, and read the diff.
func TestScrape_Golden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		golden.Assert(t, busyFixture(t).scrapeLines("yunikorn_", "canopy_"), "busy.txt")
	})
}

// refusesAll is a resource manager that refuses every node.
type refusesAll struct{}

func (refusesAll) Fits(objects.AllocationKey, objects.NodeID) bool { return false }

// The metrics say how many asks the resource manager refused, and when it is asked again (OBS-94).
func TestScrape_BackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		assert.NilError(t, w.Reset(t.Context(), loop.Mode{Sync: true, Oracle: func(string) *objects.Oracle {
			return &objects.Oracle{Fits: refusesAll{}.Fits}
		}}, ""))
		w.call(
			scheduler.AddNode{Node: "n1", Total: vcore(4000), Schedulable: true}, addApplication("etl", "root.batch"),
			scheduler.SubmitAsk{Ask: ask("a", "etl", 1000, 0)}, scheduler.SubmitAsk{Ask: ask("b", "etl", 1000, 0)},
		)
		lines := w.scrapeLines("canopy_backed_off")
		assert.Assert(t, strings.Contains(lines, `canopy_backed_off{partition="default",reason="refused"} 2`), lines)
		want := fmt.Sprintf(`canopy_backed_off_until_seconds{partition="default",reason="refused"} %v`,
			float64(time.Now().Add(time.Second).Unix()))
		assert.Assert(t, strings.Contains(lines, want), "%s\n%s", want, lines)
	})
}

// stallsFor is a resource manager that takes some time for the answer about a node.
type stallsFor time.Duration

func (s stallsFor) Fits(objects.AllocationKey, objects.NodeID) bool {
	time.Sleep(time.Duration(s))
	return true
}

// A partition that waits for a linked shim is busy, which is said although it does not answer (OBS-101).
func TestScrape_ShowsAStalledPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		stalls := func(string) *objects.Oracle {
			return &objects.Oracle{Fits: stallsFor(20 * time.Second).Fits}
		}
		assert.NilError(t, w.Reset(t.Context(), loop.Mode{Sync: true, Oracle: stalls}, ""))
		w.call(scheduler.AddNode{Node: "n1", Total: vcore(4000), Schedulable: true}, addApplication("etl", "root.batch"))
		synctest.Wait()
		rest := w.scrapeLines("canopy_partition_")
		assert.Assert(t, strings.Contains(rest, `canopy_partition_busy_seconds{partition="default"} 0`), rest)
		l, _ := w.Partition("default")
		l.Send(scheduler.SubmitAsk{Ask: ask("a", "etl", 1000, 0)})
		synctest.Wait()
		l.Send(scheduler.SubmitAsk{Ask: ask("b", "etl", 1000, 0)}, scheduler.SubmitAsk{Ask: ask("c", "etl", 1000, 0)})
		busy := w.scrape().Body.String()
		assert.Equal(t, w.logs.TakeAll()[0].Message, "a partition is missing from a scrape")
		for _, want := range []string{`canopy_partition_busy_seconds{partition="default"} 8`,
			`canopy_partition_waiting_commands{partition="default"} 2`} {
			assert.Assert(t, strings.Contains(busy, want), "no %s in %s", want, busy)
		}
		assert.Assert(t, !strings.Contains(busy, `canopy_asks_pending{partition="default"}`), busy)
		time.Sleep(2 * time.Minute)
		rest = w.scrapeLines("canopy_partition_")
		assert.Assert(t, strings.Contains(rest, `canopy_partition_busy_seconds{partition="default"} 0`), rest)
	})
}

// The families of Go, of the process and of scrapes are in a scrape.
func TestScrape_HasProcessMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		w.scrape()
		for _, want := range []string{"go_goroutines ", "process_cpu_seconds_total ",
			`promhttp_metric_handler_requests_total{code="200"} `} {
			assert.Assert(t, w.scrapeLines(want) != "", want)
		}
	})
}

// Prometheus accepts gzip by default. YuniKorn compresses the answer twice (OBS-65).
func TestScrape_IsGzippedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busyFixture(t)
		out := w.scrape("Accept-Encoding", "gzip")
		assert.Equal(t, out.Header().Get("Content-Encoding"), "gzip")
		z, err := gzip.NewReader(out.Body)
		assert.NilError(t, err)
		text, err := io.ReadAll(z)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(text), "\ncanopy_asks_pending{partition=\"default\"} 2\n"), "%.300s", text)
	})
}

// A client may refuse gzip.
func TestScrape_IsGzippedForWhomAcceptsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busyFixture(t)
		for header, want := range map[string]string{
			"": "", "identity": "", "br, gzip;q=0": "", "gzip; q=0.0": "", "gzip;q=0.05": "gzip", "br, GZIP ;q=0.5": "gzip",
			"deflate,gzip": "gzip", "gzippy": "",
		} {
			out := w.scrape("Accept-Encoding", header)
			assert.Equal(t, out.Header().Get("Content-Encoding"), want, header)
			assert.Equal(t, strings.Contains(out.Body.String(), "\n# TYPE"), want == "", header)
		}
	})
}

// Prometheus prefers OpenMetrics, which would rename counters.
func TestScrape_IsTextInTheFormatOfPrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newFixture(t, clusterYAML).scrape("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,"+
			"text/plain;version=0.0.4;q=0.4,*/*;q=0.1")
		assert.Equal(t, out.Header().Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
		assert.Assert(t, strings.Contains(out.Body.String(), "\n# TYPE canopy_events_total counter\n"))
	})
}

// clientWriter calls a function in place of each write to a client.
type clientWriter struct {
	http.ResponseWriter
	write func()
}

func (w clientWriter) Write(text []byte) (int, error) {
	w.write()
	return len(text), nil
}

// Clients that do not read take no more than their share of the scrapes at a time (OBS-65).
func TestScrape_TooManyAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		handler, read := w.metrics.Handler(w.Cluster), make(chan struct{})
		scrape := func(host string, write func()) *httptest.ResponseRecorder {
			out := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			r.RemoteAddr = host + ":1"
			handler.ServeHTTP(clientWriter{out, write}, r)
			return out
		}
		for range 3 {
			go scrape("10.0.0.1", func() { <-read })
		}
		synctest.Wait()
		began := time.Now()
		out := scrape("10.0.0.1", func() {})
		assert.Equal(t, out.Code, http.StatusServiceUnavailable)
		assert.Equal(t, out.Header().Get("Retry-After"), "1")
		assert.Equal(t, time.Since(began), 5*time.Second)
		assert.Equal(t, w.logs.FilterMessage("a scrape failed").Len(), 1)
		assert.Equal(t, scrape("10.0.0.2", func() {}).Code, http.StatusOK)
		close(read)
		synctest.Wait()
		assert.Equal(t, scrape("10.0.0.1", func() {}).Code, http.StatusOK)
	})
}

// A scrape that panics, as net/http does it for a client that has left, holds nothing afterwards.
func TestScrape_ReleasesItsShareOnPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		handler := w.metrics.Handler(w.Cluster)
		scrape := func(write func()) (panicked any) {
			defer func() { panicked = recover() }()
			handler.ServeHTTP(clientWriter{httptest.NewRecorder(), write},
				httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
			return nil
		}
		for range 20 {
			assert.Equal(t, scrape(func() { panic(http.ErrAbortHandler) }), http.ErrAbortHandler)
		}
		written := 0
		assert.Equal(t, scrape(func() { written++ }), nil)
		assert.Assert(t, written > 0)
	})
}

// The only problems that promlint finds are names of YuniKorn.
func TestScrape_MetricNamesPassPromlint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		problems, err := promlint.New(busyFixture(t).scrape().Body).Lint()
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
		labels := []string{"partition", "queue", "state", "result", "resource", "reason", "range", "source", "outcome"}
		for _, line := range strings.Split(busyFixture(t).scrapeLines("yunikorn_", "canopy_"), "\n") {
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

// A partition that does not answer is missing from the scrape, except for its counters.
func TestScrape_UnresponsivePartitionIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busyFixture(t)
		l, _ := w.Partition("default")
		release := make(chan struct{})
		defer close(release)
		w.blockDelivery.Store(&release)
		l.Send(addApplication("more", "root.prod"))
		l.Send(addApplication("more", "root.prod"))
		began := time.Now()
		out := w.scrape("X-Prometheus-Scrape-Timeout-Seconds", "10")
		assert.Equal(t, time.Since(began), 8*time.Second)
		assert.Equal(t, out.Code, 200)
		text := out.Body.String()
		for want, present := range map[string]bool{
			"\ncanopy_scrape_failures_total{partition=\"default\"} 1\n":                 true,
			"\ncanopy_preemptions_total{partition=\"default\",reason=\"priority\"} 1\n": true, // a counter
			"\ncanopy_asks_pending{partition=\"default\"}":                              false,
			"\ncanopy_asks_pending{partition=\"empty\"} 0\n":                            true,
		} {
			assert.Equal(t, strings.Contains(text, want), present, want)
		}
		assert.Equal(t, w.logs.FilterMessage("a partition is missing from a scrape").Len(), 1)
	})
}

func TestScrapeTimeout_FromHeader(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 8 * time.Second, "10": 8 * time.Second, "0.5": 400 * time.Millisecond, "-1": 8 * time.Second,
		"NaN":   8 * time.Second,
		"1e300": 8 * time.Second, "soon": 8 * time.Second,
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", header)
		assert.Equal(t, metrics.ScrapeTimeout(r), want, "%q", header)
	}
}

// A partition that was removed from the configuration is no failure, and its counters stay.
func TestScrape_RemovedPartitionKeepsCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		w.scrapeLines("canopy_")
		w.configure(clusterYAML[:strings.Index(clusterYAML, "  - name: empty")])
		synctest.Wait()
		lines := w.scrapeLines("canopy_")
		assert.Assert(t, strings.Contains(lines, "\ncanopy_commands_rejected_total{partition=\"empty\"} 0\n"), lines)
		assert.Assert(t, !strings.Contains(lines, "\ncanopy_asks_pending{partition=\"empty\"}"), lines)
	})
}

// A scrape of a scheduler that is stopping has the counters.
func TestScrape_StoppedScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := busyFixture(t)
		w.End()
		text := w.scrape().Body.String()
		for _, want := range []string{"failures_total{partition=\"default\"} 1\n", "failures_total{partition=\"empty\"} 1\n",
			"submission_total{partition"} {
			assert.Assert(t, strings.Contains(text, want), "%s\n%s", want, text)
		}
	})
}

// Two resources whose names become the same make one family.
func TestScrape_CollidingResourceNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		w.call(scheduler.AddNode{Node: "n", Total: amounts(map[string]resources.Quantity{"a/b": 1, "a.b": 1, "no\xffutf": 1}),
			Schedulable: true})
		lines := w.scrapeLines("yunikorn_scheduler_a_b_node", "yunikorn_queue_resource", "yunikorn_scheduler_no_utf")
		assert.Equal(t, strings.Count(lines, "a_b_node_usage_total{"), 10, lines)
		assert.Assert(t, strings.Contains(lines, `resource="no_utf"`), lines)
	})
}

// Without --data-dir no generation is ever stored, and an alert on canopy_config_stored would always fire (OBS-89).
func TestScrape_ConfigStoredNeedsAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, clusterYAML)
		for want, c := range map[string]metrics.Config{
			"":                         {Generation: 1},
			"canopy_config_stored 0\n": {Generation: 1, HasStore: true},
			"canopy_config_stored 1\n": {Generation: 1, HasStore: true, Stored: true},
		} {
			w.metrics.SetConfigSource(func() metrics.Config { return c })
			lines := w.scrapeLines("canopy_config_")
			assert.Equal(t, strings.Contains(lines, "canopy_config_stored "), want != "", lines)
			assert.Assert(t, strings.Contains(lines, want), lines)
			assert.Assert(t, strings.Contains(lines, "canopy_config_generation 1\n"), lines)
		}
	})
}
