package rmproxy

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

func TestStreams_EndToEnd(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n, a, x := r.openNodeStream(), r.openApplicationStream(), r.openAllocationStream()

	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1"), fakerm.Node("n2")}}))
	accepted := receive(t, n, 2, (*si.NodeResponse).GetAccepted)
	assert.Equal(t, accepted[0].NodeID, "n1")
	assert.Equal(t, accepted[1].NodeID, "n2")

	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")}}))
	assert.Equal(t, receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)[0].ApplicationID, "app")

	ask := fakerm.Ask("k1", "app")
	ask.Priority = 7
	ask.Originator = true
	ask.TaskGroupName = "tg"
	ask.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true}
	ask.AllocationTags = map[string]string{"x": "y"}
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{ask}}))
	got := receive(t, x, 1, (*si.AllocationResponse).GetNew)[0]
	assert.Equal(t, got.AllocationKey, "k1")
	assert.Equal(t, got.ApplicationID, "app")
	assert.Assert(t, got.NodeID == "n1" || got.NodeID == "n2")
	assert.Equal(t, got.ResourcePerAlloc.Resources["memory"].Value, int64(10))
	assert.Equal(t, got.TaskGroupName, "tg")
	assert.Equal(t, got.Originator, true)
	assert.Equal(t, got.PreemptionPolicy.AllowPreemptOther, true)
	assert.Equal(t, got.Priority, int32(0), "YuniKorn does not send the priority")
	assert.Equal(t, len(got.AllocationTags), 0)

	states := receive(t, a, 2, (*si.ApplicationResponse).GetUpdated)
	assert.Equal(t, states[0].State, "Accepted")
	assert.Equal(t, states[1].State, "Running")
	assert.Assert(t, states[1].StateTransitionTimestamp > 0)
	assert.Equal(t, states[1].Message, "application app is Running: the first ask was placed")

	assert.NilError(t, x.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{
			{ApplicationID: "app", AllocationKey: "k1", TerminationType: si.TerminationType_STOPPED_BY_RM},
		},
	}}))
	releasedAlloc := receive(t, x, 1, (*si.AllocationResponse).GetReleased)[0]
	assert.Equal(t, releasedAlloc.AllocationKey, "k1")
	assert.Equal(t, releasedAlloc.ApplicationID, "app")
	assert.Equal(t, releasedAlloc.PartitionName, "[rm]default")
	assert.Equal(t, releasedAlloc.TerminationType, si.TerminationType_STOPPED_BY_RM)
	assert.Assert(t, releasedAlloc.Message != "")
}
