package rmproxy

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// waitDelivered waits until the effects of all commands so far are delivered: the first request
// is served after the commands, the second only after delivery.
func waitDelivered(t *testing.T, l *loop.Loop) {
	t.Helper()
	assert.NilError(t, l.Check(t.Context()))
	assert.NilError(t, l.Check(t.Context()))
}

// Elements that change nothing and have no answer are counted by kind, and logged once.
func TestIgnored_IsCountedAndLoggedOnce(t *testing.T) {
	d := newLinkedCore(t, &fakerm.Recorder{})
	d.addNodes("n1", "n2")
	d.addApp()
	ask := fakerm.Ask("k", "app")
	assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{ask}}))
	changed, odd := fakerm.Ask("k", "app"), fakerm.Ask("odd", "app")
	changed.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true}
	odd.AllocationTags = map[string]string{"creationTime": "soon"}
	release := &si.AllocationRelease{ApplicationID: "app", AllocationKey: "none"}
	for range 3 {
		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{
			RmID: "rm", Allocations: []*si.Allocation{nil, changed, odd},
			Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{release,
				{AllocationKey: "foreign"}}},
		}))
		assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{
			RmID:   "rm",
			Remove: []*si.RemoveApplicationRequest{{ApplicationID: "none"}, {ApplicationID: "app", PartitionName: "none"}},
		}))
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{
			RmID:  "rm",
			Nodes: []*si.NodeInfo{nil, {NodeID: "n1", Action: si.NodeInfo_UPDATE, SchedulableResource: fakerm.Resource(-1, 1)}},
		}))
	}
	l, ok := d.Cluster().Partition("default")
	assert.Assert(t, ok)
	waitDelivered(t, l)
	assert.DeepEqual(t, d.p.Counts().Ignored, map[string]uint64{
		"empty-entry": 6, "unknown-field": 0, "invalid-element": 3, "unknown-partition": 0, "invalid-tag": 3,
		"refused-command": 3, "unknown-release": 6, "unknown-application": 3, "changed-content": 3,
		"unknown-task-group": 0, "unmet-required-node": 0,
	})
	assert.Equal(t, d.logs.FilterMessageSnippet("the interface has no answer for it").Len(), 5, "once for each kind")
	d.register(&fakerm.Recorder{})
	assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{
		RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: "none"}},
	}))
	waitDelivered(t, l)
	assert.Equal(t, d.logs.FilterMessageSnippet("the interface has no answer for it").Len(), 6,
		"and for each registration")
}

// A known key with something else than its amounts is rejected as a whole, and stays as it is.
func TestIgnored_ReportWithAnotherNodeDoesNotMoveTheAllocation(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	n, x := r.openNodeStream(), r.openAllocationStream()
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n2")}}))
	receive(t, n, 1, (*si.NodeResponse).GetAccepted)
	report := fakerm.Ask("k", "app")
	report.NodeID = "n1"
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{report}}))
	assert.Equal(t, receive(t, x, 1, (*si.AllocationResponse).GetNew)[0].NodeID, "n1")

	for _, node := range []string{"n2", "unknown"} {
		moved, next := fakerm.Ask("k", "app"), fakerm.Ask("after "+node, "app")
		moved.NodeID, next.NodeID, moved.ResourcePerAlloc = node, "n2", fakerm.Resource(50, 50)
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{moved, next}}))
		rejected := receive(t, x, 1, (*si.AllocationResponse).GetRejectedAllocations)[0]
		assert.Equal(t, rejected.AllocationKey+": "+rejected.Reason,
			"k: key k of application app is known: its node stays \"n1\", not \""+node+"\"")
		assert.Equal(t, receive(t, x, 1, (*si.AllocationResponse).GetNew)[0].AllocationKey, "after "+node)
	}
	assert.Equal(t, r.p.Counts().Ignored["changed-content"], uint64(0), "it is answered")
	nodes := r.snapshot("default").Nodes
	assert.Equal(t, int64(nodes.At(0).Allocated.Get("memory")), int64(10), "k is on n1")
	assert.Equal(t, int64(nodes.At(1).Allocated.Get("memory")), int64(20), "the other two are on n2")
}
