package rmproxy

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
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
	d := newLinkedCore(t, &shim{})
	d.addNodes("n1", "n2")
	d.addApp()
	ask := newAsk("k", "app")
	assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{ask}}))
	changed, moved, odd := newAsk("k", "app"), newAsk("k", "app"), newAsk("odd", "app")
	changed.Priority, moved.NodeID = 7, "n2"
	odd.AllocationTags = map[string]string{"creationTime": "soon"}
	release := &si.AllocationRelease{ApplicationID: "app", AllocationKey: "none"}
	for range 3 {
		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{
			RmID: "rm", Allocations: []*si.Allocation{nil, changed, odd},
			Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{release, {AllocationKey: "foreign"}}},
		}))
		assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{
			RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: "none"}, {ApplicationID: "app", PartitionName: "none"}},
		}))
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{
			RmID: "rm", Nodes: []*si.NodeInfo{nil, {NodeID: "none", Action: si.NodeInfo_DECOMISSION}},
		}))
	}
	l, ok := d.Cluster().Partition("default")
	assert.Assert(t, ok)
	waitDelivered(t, l)
	assert.DeepEqual(t, d.p.Counts().Ignored, map[string]uint64{
		"empty-entry": 6, "unknown-field": 0, "invalid-element": 3, "unknown-partition": 0, "invalid-tag": 3,
		"refused-command": 3, "unknown-release": 6, "unknown-application": 3, "changed-content": 3,
	})
	assert.Equal(t, d.logs.FilterMessageSnippet("the interface has no answer for it").Len(), 5, "once for each kind")
	d.register(&shim{})
	assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{
		RmID: "rm", Remove: []*si.RemoveApplicationRequest{{ApplicationID: "none"}},
	}))
	waitDelivered(t, l)
	assert.Equal(t, d.logs.FilterMessageSnippet("the interface has no answer for it").Len(), 6, "and for each registration")
}
