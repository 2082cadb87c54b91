package scheduler_test

import (
	"io"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/scheduler"
)

// rest answers with the bodies of paths, and with status 404 at others.
type rest map[string]string

func (r rest) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, ok := r[q.URL.EscapedPath()]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.WriteString(w, body) // in memory
}

func TestClusterContext_ReadsAtEachCall(t *testing.T) {
	answers := rest{
		"/ws/v1/partitions":                          `[{"name":"default"}]`,
		"/ws/v1/partition/default/application/a%2F1": `{"applicationID":"a/1","applicationState":"Running"}`,
		"/ws/v1/partition/default/application/ended": `{"applicationID":"ended","applicationState":"Completed",` +
			`"finishedTime":1}`,
		"/ws/v1/partition/default/nodes": `[{"nodeID":"n1"},{"nodeID":"n2"}]`,
	}
	cluster := scheduler.NewScheduler(answers).GetClusterContext()
	assert.Equal(t, cluster.GetApplication("a/1", "[rm]default").CurrentState(), "Running")
	answers["/ws/v1/partition/default/application/a%2F1"] = `{"applicationID":"a/1","applicationState":"Completing"}`
	assert.Equal(t, cluster.GetApplication("a/1", "default").CurrentState(), "Completing")
	assert.Assert(t, cluster.GetApplication("ended", "default") == nil)
	partition := cluster.GetPartition("[rm]default")
	assert.Equal(t, partition.Name, "default")
	assert.Equal(t, len(partition.GetNodes()), 2)
	assert.Equal(t, len(partition.GetApplications()), 0)
}

// What cannot be read is not there: with credentials that are required, all of it.
func TestClusterContext_NothingIsFoundWithoutAnAnswer(t *testing.T) {
	cluster := scheduler.NewScheduler(rest{"/ws/v1/partition/p/node/n": "no JSON"}).GetClusterContext()
	assert.Assert(t, cluster.GetPartition("p") == nil && cluster.GetApplication("a", "p") == nil &&
		cluster.GetNode("n", "p") == nil)
}
