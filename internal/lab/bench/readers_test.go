package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

func TestReaders_InvalidAnswersAreFound(t *testing.T) {
	e := endpoint{path: "/nodes", want: map[string][2]int{"nodeID": {2, 2}, "allocationKey": {1, 3}}}
	for text, want := range map[string]string{
		`[{"nodeID":"a","allocations":[{"allocationKey":"x]\""}]},{"nodeID":"b"}]`: "",
		`[{"nodeID":"a","allocations":[{"allocationKey":"x"}]},{"nodeID":"b"}`:     "it ends in the middle",
		`[{"nodeID":"a","allocations":[{"allocationKey":"x"`:                       "it ends in the middle",
		``: "it ends in the middle",
		`[{"nodeID":"a","allocations":[{"allocationKey":"x"}]}]`:                `1 times "nodeID", and 2 to 2 are right`,
		`[{"nodeID":"a"},{"nodeID":"b"}]`:                                       `0 times "allocationKey"`,
		`[{"nodeID":"a","allocations":[{"allocationKey":"x"}}],{"nodeID":"b"}]`: "closes nothing",
		`[{"nodeID":"a","allocationKey":"x"},{"nodeID":"b"}][]`:                 "2 bytes behind its end",
		`[{"nodeID":"a","allocationKey":"x"},{"nodeID":"b"},]`:                  "no JSON",
	} {
		err := e.checkText([]byte(text), true)
		if want == "" {
			assert.NilError(t, err, text)
			continue
		}
		assert.ErrorIs(t, err, errWrong)
		assert.ErrorContains(t, err, want)
	}
}

// Readers count what they get: refusals are not failures, and failures are not answers.
func TestReaders_CountAnswersByOutcome(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/healthz"):
			_, _ = w.Write([]byte(`{"healthy":true}`))
		case strings.HasSuffix(r.URL.Path, "/nodes"):
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`[`)) // and no more
		case strings.HasSuffix(r.URL.Path, "/queues"):
			_, _ = w.Write([]byte(`{}`))
		default:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	p := &pollJob{Address: strings.TrimPrefix(server.URL, "http://"), Pollers: 24, Seconds: 1, Queues: 3}
	a, err := Do(context.Background(), Job{Measure: Poll, Poll: p})
	assert.NilError(t, err)
	for _, metric := range []string{"answers", "answersRefused", "answersFailed", "answersWrong"} {
		assert.Assert(t, a.Sample[metric] > 0, "%s: %v", metric, a.Sample)
	}
	assert.Assert(t, a.Sample["answersRefused"] > a.Sample["answers"])
}

// Readers use what the server says that can be read, but for what is named here.
func TestReaders_UseEveryEndpoint(t *testing.T) {
	without := map[string]string{
		"/ws/v1/live":                                       "open pages have it",
		"/ws/v1/events/stream":                              "it does not end",
		"/ws/v1/history/usage":                              "the server has no data directory",
		"/ws/v1/disruptionbudget/{name}":                    "there is none",
		"/ws/v1/partition/{partition}/preemptions/{number}": "there is none",
		"/ws/v1/partition/{partition}/usage/group/{group}":  "there is none",
		"/ws/v1/fullstatedump":                              "with --debug only, as the next",
		"/debug/fullstatedump":                              "",
		"/ws/v1/stack":                                      "",
		"/debug/stack":                                      "",
		"/debug/pprof/":                                     "",
		"/debug/pprof/{profile}":                            "",
		"/metrics":                                          "the same as /ws/v1/metrics",
	}
	server, err := serveHere(context.Background(), nil)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, server.stop()) }()
	response, err := http.Get("http://" + server.http + "/ws/v1/openapi.json")
	assert.NilError(t, err)
	defer response.Body.Close()
	var described struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	assert.NilError(t, json.NewDecoder(response.Body).Decode(&described))
	p := &pollJob{Node: "n", Queue: "root.q", Application: "a", User: "u", Ask: "k"}
	used := func(path string) bool {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(path, "[^/]+") + "$")
		return slices.ContainsFunc(p.endpoints(),
			func(e endpoint) bool { return pattern.MatchString(strings.Split(e.path, "?")[0]) })
	}
	seen := 0
	for path, methods := range described.Paths {
		if methods["get"] == nil {
			continue
		}
		seen++
		_, excluded := without[path]
		assert.Assert(t, used(path) != excluded, "%s: used %v, and named here %v", path, used(path), excluded)
	}
	assert.Assert(t, seen > 40, "%d", seen)
}

// A page reads what it shows when that has changed, and not when something else has.
func TestReaders_PagesFollowWhatTheyShow(t *testing.T) {
	var reads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws/v1/live" {
			reads.Add(1)
			_, _ = w.Write([]byte(`[{"queuename":"root"}]`))
			return
		}
		for _, queues := range []int{1, 1, 1} {
			_, _ = fmt.Fprintf(w,
				"event: changed\ndata: {\"generation\":1,\"events\":%d,\"partitions\":{\"default\":{\"queues\":%d}}}\n\n",
				reads.Load(), queues)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	p := &pollJob{Address: strings.TrimPrefix(server.URL, "http://"), Queues: 1}
	ctx, stop := context.WithCancel(context.Background())
	all := &pollResults{sample: report.Sample{}, answerTimes: measure.NewHistogram()}
	ended := make(chan struct{})
	go func() { all.page(ctx, p, http.DefaultClient, 1); close(ended) }() // the second view: queues
	for all.counted("answers") == 0 && all.counted("answersWrong") == 0 && all.counted("answersFailed") == 0 {
		runtime.Gosched()
	}
	stop()
	<-ended
	assert.Equal(t, reads.Load(), int32(1))
	assert.DeepEqual(t, all.sample, report.Sample{"answers": 1, "pageChanges": 1, "answerBytes": 22})
}

func (a *pollResults) counted(metric string) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sample[metric]
}
