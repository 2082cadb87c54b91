package rmproxy

import (
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Constraints come with tags and attributes. Taints and labels may change with an update, which may also say nothing of
// them.
func TestConstraints_OverGRPC(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	nodes, allocations := r.openNodeStream(), r.openAllocationStream()
	bad, gpu := fakerm.Node("bad"), fakerm.Node("gpu")
	bad.Attributes = map[string]string{constraints.TaintsAttribute: `[{"key":"gpu","effect":"Never"}]`}
	gpu.Attributes = map[string]string{constraints.TaintsAttribute: `[{"key":"gpu","effect":"NoSchedule"}]`, "disk": "ssd"}
	assert.NilError(t, nodes.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{bad, gpu}}))
	var rejected []*si.RejectedNode
	for answered := 0; answered < 2; {
		m, err := nodes.Recv()
		assert.NilError(t, err)
		rejected, answered = append(rejected, m.Rejected...), answered+len(m.Rejected)+len(m.Accepted)
	}
	assert.Equal(t, len(rejected), 1)
	assert.Assert(t, strings.Contains(rejected[0].Reason, `effect "Never" of taint gpu is none of`), rejected[0].Reason)

	asks := []*si.Allocation{fakerm.Ask("malformed", "app"), fakerm.Ask("prefers", "app"), fakerm.Ask("tolerant", "app"),
		fakerm.Ask("waits", "app")}
	asks[0].AllocationTags = map[string]string{constraints.SelectorTag: `{"disk":`}
	asks[1].AllocationTags = map[string]string{
		constraints.AffinityTag: `{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}`,
	}
	asks[2].AllocationTags = map[string]string{constraints.SelectorTag: `{"disk":"ssd"}`,
		constraints.TolerationsTag: `[{"operator":"Exists"}]`}
	asks[3].AllocationTags = map[string]string{constraints.SelectorTag: `{"zone":"a","disk":"ssd"}`}
	assert.NilError(t, allocations.Send(&si.AllocationRequest{Allocations: asks}))
	refusals := receive(t, allocations, 1, (*si.AllocationResponse).GetRejectedAllocations)
	assert.Equal(t, refusals[0].AllocationKey, "malformed")
	assert.Equal(t, refusals[0].Reason, "tag canopy.scheduler/nodeSelector: not the JSON expected: it ends too early")
	on := map[string]string{}
	for _, a := range receive(t, allocations, 2, (*si.AllocationResponse).GetNew) {
		on[a.AllocationKey] = a.NodeID
	}
	assert.Equal(t, on["tolerant"], "gpu")
	assert.Assert(t, on["prefers"] != "" && on["prefers"] != "gpu", "%v", on)

	update := func(attributes map[string]string) {
		t.Helper()
		m := &si.NodeInfo{NodeID: "gpu", Action: si.NodeInfo_UPDATE, SchedulableResource: gpu.SchedulableResource,
			Attributes: attributes}
		assert.NilError(t, nodes.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{m}}))
		roundTrip(t, nodes)
	}
	attributes := func() map[string]string {
		n := r.snapshot("default").Node("gpu")
		assert.Assert(t, n != nil)
		return n.Attributes
	}
	update(nil)
	assert.Equal(t, attributes()["disk"], "ssd", "an update without attributes leaves them")
	update(map[string]string{"si/node-partition": "default"})
	assert.Equal(t, attributes()["disk"], "ssd", "and so does one with its partition alone")
	update(map[string]string{"zone": "a", "disk": "ssd"})
	placed := receive(t, allocations, 1, (*si.AllocationResponse).GetNew)
	assert.Equal(t, placed[0].AllocationKey+" on "+placed[0].NodeID, "waits on gpu")
	r.check()
}

// Pod affinity over gRPC: an unreadable one is rejected with the tag and the reason, and anti-affinity keeps the second
// ask away from the node of the first until that is released (CON-18, CON-25, CON-26).
func TestConstraints_AffinityOverGRPC(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	nodes, allocations := r.openNodeStream(), r.openAllocationStream()
	named := fakerm.Node("named")
	named.Attributes = map[string]string{"host": "named"}
	assert.NilError(t, nodes.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{named}}))
	asks := []*si.Allocation{fakerm.Ask("bad", "app"), fakerm.Ask("first", "app"), fakerm.Ask("second", "app")}
	asks[0].AllocationTags = map[string]string{affinity.SpreadTag: `[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}]`}
	for _, a := range asks[1:] {
		a.AllocationTags = map[string]string{
			"kubernetes.io/label/app": "db", constraints.SelectorTag: `{"host":"named"}`,
			affinity.PodAntiAffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"host",` +
				`"labelSelector":{"matchLabels":{"app":"db"}}}]}`,
		}
	}
	assert.NilError(t, allocations.Send(&si.AllocationRequest{Allocations: asks}))
	refusals := receive(t, allocations, 1, (*si.AllocationResponse).GetRejectedAllocations)
	assert.Equal(t, refusals[0].AllocationKey+": "+refusals[0].Reason,
		"bad: tag canopy.scheduler/topologySpreadConstraints: constraint 1: topologyKey is missing")
	placed := receive(t, allocations, 1, (*si.AllocationResponse).GetNew)
	assert.Equal(t, placed[0].AllocationKey+" on "+placed[0].NodeID, "first on named")
	assert.NilError(t,
		allocations.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{
				{ApplicationID: "app", AllocationKey: "first", PartitionName: "default",
					TerminationType: si.TerminationType_STOPPED_BY_RM},
			},
		}}))
	placed = receive(t, allocations, 1, (*si.AllocationResponse).GetNew)
	assert.Equal(t, placed[0].AllocationKey+" on "+placed[0].NodeID, "second on named")
	r.check()
}
