package webservice_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// The answers to a story, in full. After a change: go test ./pkg/webservice -update,
// and read the diff.
func TestAnswers(t *testing.T) {
	c := busy(t)
	cases := []struct{ name, target string }{
		{"partitions", "/ws/v1/partitions"},
		{"queues", "/ws/v1/partition/default/queues"},
		{"queues-empty", "/ws/v1/partition/empty/queues"},
		{"nodes", "/ws/v1/partition/default/nodes"},
		{"nodes-empty", "/ws/v1/partition/empty/nodes"},
		{"applications", "/ws/v1/partition/default/queue/ROOT.tenant.Fair/applications"},
		{"applications-odd", "/ws/v1/partition/default/queue/root.tenant.odd%252Fname/applications"},
		{"applications-parent", "/ws/v1/partition/default/queue/root/applications"},
		{"why", "/ws/v1/partition/default/ask/waits/why"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			w := fetch(c, x.target)
			assert.Equal(t, w.Code, http.StatusOK)
			assert.Equal(t, w.Header().Get("Content-Type"), "application/json; charset=UTF-8")
			var pretty bytes.Buffer
			assert.NilError(t, json.Indent(&pretty, w.Body.Bytes(), "", "  "))
			golden.Assert(t, pretty.String()+"\n", x.name+".json")
			again, last := fetch(c, x.target), fetch(c, x.target)
			assert.Equal(t, again.Body.String(), last.Body.String(), "the same bytes each time")
		})
	}
}
