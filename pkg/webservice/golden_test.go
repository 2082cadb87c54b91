package webservice_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// To renew the golden files: go test ./pkg/webservice -update, and read the diff.
func TestGolden_Answers(t *testing.T) {
	checkGolden(t, busyCluster(t), []answer{
		{"partitions", "/ws/v1/partitions"},
		{"queues", "/ws/v1/partition/default/queues"},
		{"queues-empty", "/ws/v1/partition/empty/queues"},
		{"nodes", "/ws/v1/partition/default/nodes"},
		{"node", "/ws/v1/partition/default/node/n1"},
		{"nodes-empty", "/ws/v1/partition/empty/nodes"},
		{"applications", "/ws/v1/partition/default/queue/ROOT.tenant.Fair/applications"},
		{"applications-odd", "/ws/v1/partition/default/queue/root.tenant.odd%252Fname/applications"},
		{"applications-parent", "/ws/v1/partition/default/queue/root/applications"},
		{"usage-users", "/ws/v1/partition/default/usage/users"},
		{"usage-user", "/ws/v1/partition/default/usage/user/ann"},
		{"usage-groups", "/ws/v1/partition/default/usage/groups"},
		{"usage-group", "/ws/v1/partition/default/usage/group/ops"},
		{"usage-empty", "/ws/v1/partition/empty/usage/users"},
		{"explain-waits", "/ws/v1/partition/default/ask/waits/explain"},
		{"explain-runs", "/ws/v1/partition/default/ask/runs/explain"},
		{"explain-foreign", "/ws/v1/partition/default/ask/daemon/explain"},
	})
}

// The answers about applications that have ended or are completing, and about draining queues.
func TestGolden_EndedApplications(t *testing.T) {
	const partition = "/ws/v1/partition/default/"
	checkGolden(t, endedCluster(t), []answer{
		{"end-partitions", "/ws/v1/partitions"},
		{"end-draining", partition + "queue/root.idle/applications"},
		{"end-queues", partition + "queues"},
		{"end-completed", partition + "applications/Completed"},
		{"end-rejected", partition + "applications/rejected"},
		{"end-active", partition + "applications/active?status=Completing"},
		{"end-queue-active", partition + "queue/root.tenant.fair/applications/active?status=new"},
		{"end-application", partition + "application/idle"},
		{"end-queue-application", partition + "queue/root.idle/application/idle"},
	})
}

// A node that has shrunk below what runs on it: its eviction order, and what shows that it is overcommitted.
func TestGolden_EvictionOrder(t *testing.T) {
	const node = "/ws/v1/partition/default/node/"
	c := busyCluster(t)
	l, _ := c.Partition("default")
	mustCall(t, l,
		scheduler.SetCapacity{Node: "n1",
			Total: amounts(map[string]resources.Quantity{"vcore": 3000, "memory": 8_000_000_000})},
		scheduler.ReportAllocation{Node: "n1", Ask: &objects.Ask{
			Key: "hog", App: "app-2", Priority: 100,
			Amounts: amounts(map[string]resources.Quantity{"vcore": 100, "memory": 1000}),
			Details: &objects.AskDetails{Tags: map[string]string{objects.UsageTag: `{"memory":"2000"}`}},
		}},
	)
	checkGolden(t, c, []answer{
		{"eviction-order", node + "n1/eviction-order"},
		{"eviction-order-memory", node + "n1/eviction-order?resource=memory"},
		{"eviction-order-empty", node + "n2/eviction-order"},
		{"node-overcommitted", node + "n1"},
		{"partitions-overcommitted", "/ws/v1/partitions"},
	})
}

// withoutAudits is an answer without Audits, whose times differ between runs.
func withoutAudits(text string) string {
	return regexp.MustCompile(`,"Audits":.*$`).ReplaceAllString(text, "}")
}

type answer struct{ name, target string }

func checkGolden(t *testing.T, c *loop.Cluster, answers []answer) {
	t.Helper()
	for _, x := range answers {
		t.Run(x.name, func(t *testing.T) {
			w := fetch(c, x.target)
			assert.Equal(t, w.Code, http.StatusOK)
			assert.Equal(t, w.Header().Get("Content-Type"), "application/json; charset=UTF-8")
			var pretty bytes.Buffer
			assert.NilError(t, json.Indent(&pretty, []byte(withoutAudits(w.Body.String())), "", "  "))
			golden.Assert(t, pretty.String()+"\n", x.name+".json")
			again, last := fetch(c, x.target), fetch(c, x.target)
			assert.Equal(t, withoutAudits(again.Body.String()), withoutAudits(last.Body.String()),
				"the answers of an unchanged state differ")
		})
	}
}
