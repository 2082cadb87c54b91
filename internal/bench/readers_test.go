package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
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
