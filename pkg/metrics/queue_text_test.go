package metrics_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const changingQueuesYAML = `
partitions:
  - name: default
    placementrules: [{name: provided, create: true}]
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: a, queues: [{name: x, maxapplications: 9, resources: {max: {vcore: 50}}}, {name: y}%s]}
          - {name: b, parent: true, resources: {guaranteed: {vcore: 5}}}
`

// The values of queues, most of them kept from earlier scrapes, are those of a first scrape.
func TestScrape_KeptQueuesEqualAFirstScrape(t *testing.T) {
	for seed := range uint64(testscale.Runs(20)) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			configs := []string{fmt.Sprintf(changingQueuesYAML, ""), fmt.Sprintf(changingQueuesYAML, ", {name: z}")}
			w := newFixture(t, configs[0])
			w.call(scheduler.AddNode{Node: "n", Total: vcore(80_000), Schedulable: true})
			handler := w.metrics.Handler(w.Cluster)
			keys, ended := 0, 0
			for range 150 {
				app := fmt.Sprint("app-", rng.IntN(12))
				switch n := rng.IntN(20); {
				case n < 5:
					queues := []string{"root.a.x", "root.a.y", "root.b.d" + fmt.Sprint(rng.IntN(4)), "root.b.deep.e"}
					w.call(addApplication(app, queues[rng.IntN(len(queues))]))
				case n < 13:
					keys++
					w.call(scheduler.SubmitAsk{Ask: ask(fmt.Sprint("k", keys), app, resources.Quantity(rng.IntN(3000)+1), 0)})
				case n < 15:
					w.call(scheduler.Release{App: objects.AppID(app), Key: objects.AllocationKey(fmt.Sprint("k", rng.IntN(keys+1)))})
				case n < 17:
					w.call(scheduler.RemoveApplication{App: objects.AppID(app)})
				case n < 18:
					time.Sleep(2 * time.Minute) // applications complete, empty dynamic queues go
				case n < 19:
					w.configure(configs[rng.IntN(2)])
				default: // effects are delivered later than the snapshot shows them, or earlier
					w.metrics.OnEffects("default",
						[]scheduler.Effect{scheduler.ApplicationUpdated{App: "x", Queue: "root.a.y", State: lifecycle.Completed}})
				}
				synctest.Wait()
				if rng.IntN(2) == 0 {
					continue // several changes between two scrapes
				}
				out := httptest.NewRecorder()
				handler.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
				got, want := linesAboutQueues(out.Body), linesAboutQueues(w.scrape().Body)
				assert.Equal(t, got, want, "seed %d", seed)
				ended += strings.Count(got, `state="completed"} `+"1\n")
			}
			assert.Assert(t, ended > 0, "no application has ended")
		})
	}
}

// linesAboutQueues returns the lines of a scrape about the partition, in their order.
func linesAboutQueues(r io.Reader) string {
	text, _ := io.ReadAll(r)
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "yunikorn_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A scrape writes anew the values of queues that have changed, and reuses what it has for the others: a scrape
// that allocates its size makes the garbage collector run while decisions wait (OBS-91).
func TestScrape_AllocatesLittle(t *testing.T) {
	if testscale.RaceDetector {
		t.Skip("with the race detector pools drop buffers at random")
	}
	const leaves = 1_000
	var text strings.Builder
	text.WriteString("partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [")
	for parent := range 20 {
		fmt.Fprintf(&text, "{name: p%02d, queues: [", parent)
		for leaf := range leaves / 20 {
			fmt.Fprintf(&text, "{name: l%02d, resources: {max: {vcore: 1000, memory: 1000G}}},", leaf)
		}
		text.WriteString("]},")
	}
	text.WriteString("]}]}]\n")
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, text.String())
		cmds := []scheduler.Command{scheduler.AddNode{Node: "n", Total: vcore(100_000_000), Schedulable: true}}
		app := func(i int) string { return fmt.Sprintf("app-%04d", i%leaves) }
		for i := range leaves {
			cmds = append(cmds, addApplication(app(i), fmt.Sprintf("root.p%02d.l%02d", i%20, i/20)))
		}
		w.call(cmds...)
		handler, asks := w.metrics.Handler(w.Cluster), 0
		scrape := func(gzipped bool) (cost, size int) {
			cmds := []scheduler.Command{}
			for range 40 {
				cmds = append(cmds, scheduler.SubmitAsk{Ask: ask(fmt.Sprint("k", asks), app(asks*7919), 100, 0)})
				asks++
			}
			w.call(cmds...)
			l, _ := w.Partition("default")
			_, err := l.Snapshot(t.Context()) // its cost is not that of the scrape
			assert.NilError(t, err)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			if gzipped {
				r.Header.Set("Accept-Encoding", "gzip")
			}
			out := &discardWriter{header: http.Header{}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			handler.ServeHTTP(out, r)
			runtime.ReadMemStats(&after)
			return int(after.TotalAlloc - before.TotalAlloc), out.size
		}
		for _, gzipped := range []bool{false, true} {
			var costs []int
			size := 0
			for range 8 { // a garbage collection in between empties pools of buffers
				var cost int
				cost, size = scrape(gzipped)
				costs = append(costs, cost)
			}
			t.Logf("gzip %t: %v bytes allocated, %d bytes long", gzipped, costs, size)
			assert.Assert(t, slices.Min(costs) < 400<<10, "gzip %t: %d bytes allocated for a scrape of %d", gzipped,
				slices.Min(costs), size)
		}
	})
}

// discardWriter is an http.ResponseWriter that counts what is written.
type discardWriter struct {
	header http.Header
	size   int
}

func (w *discardWriter) Header() http.Header { return w.header }
func (w *discardWriter) WriteHeader(int)     {}
func (w *discardWriter) Write(b []byte) (int, error) {
	w.size += len(b)
	return len(b), nil
}
