package rmproxy

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

var overlongID = strings.Repeat("x", maxID+1)

func (r *rig) snapshot(partition string) *scheduler.Snapshot {
	r.t.Helper()
	l, ok := r.p.Cluster().Partition(partition)
	assert.Assert(r.t, ok, partition)
	view, err := l.Snapshot(r.ctx)
	assert.NilError(r.t, err)
	return view
}

// roundTrip sends a message that the partition answers, so that all before it has been applied and
// its effects delivered. An answer of the API itself, to an empty ID, may come before both.
func roundTrip(t *testing.T, n si.Scheduler_UpdateNodeClient) {
	t.Helper()
	unknown := &si.NodeInfo{NodeID: "unknown", Action: si.NodeInfo_UPDATE, SchedulableResource: fakerm.Resource(1, 1)}
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{unknown}}))
	rejected := receive(t, n, 1, (*si.NodeResponse).GetRejected)[0]
	assert.Equal(t, rejected.Reason, "update of unknown node unknown")
}

func TestUpdateNode_EveryAction(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n := r.openNodeStream()
	send := func(nodes ...*si.NodeInfo) {
		t.Helper()
		assert.NilError(t, n.Send(&si.NodeRequest{Nodes: nodes}))
	}
	drained := fakerm.Node("n2")
	drained.Action = si.NodeInfo_CREATE_DRAIN
	drained.Attributes = map[string]string{"si/hostname": "host2"}
	send(fakerm.Node("n1"), drained)
	receive(t, n, 2, (*si.NodeResponse).GetAccepted)
	view := r.snapshot("default")
	assert.Equal(t, view.Nodes.At(0).Schedulable, true)
	assert.Equal(t, view.Nodes.At(1).Schedulable, false)
	assert.Equal(t, view.Nodes.At(1).Attributes["si/hostname"], "host2")
	assert.Equal(t, view.Nodes.At(1).Attributes["si/node-partition"], "[rm]default", "the full name, whatever the RM sent")

	send(&si.NodeInfo{NodeID: "n1", Action: si.NodeInfo_UPDATE, SchedulableResource: fakerm.Resource(7, 8)},
		&si.NodeInfo{NodeID: "n1", Action: si.NodeInfo_DRAIN_NODE},
		&si.NodeInfo{NodeID: "n2", Action: si.NodeInfo_DRAIN_TO_SCHEDULABLE},
		&si.NodeInfo{NodeID: "n3", Action: si.NodeInfo_UPDATE})
	unknown := receive(t, n, 1, (*si.NodeResponse).GetRejected)[0]
	assert.Equal(t, unknown.NodeID+": "+unknown.Reason, "n3: update of unknown node n3")
	view = r.snapshot("default")
	assert.Equal(t, int64(view.Nodes.At(0).Total.Get("memory")), int64(7))
	assert.Equal(t, view.Nodes.At(0).Schedulable, false)
	assert.Equal(t, view.Nodes.At(1).Schedulable, true)

	send(&si.NodeInfo{NodeID: "n1", Action: si.NodeInfo_DECOMISSION}, fakerm.Node("n2"))
	again := receive(t, n, 1, (*si.NodeResponse).GetRejected)[0]
	assert.Equal(t, again.NodeID, "n2")
	assert.Assert(t, strings.Contains(again.Reason, "already exists"), again.Reason)
	assert.Equal(t, r.snapshot("default").Nodes.Len(), 1)
	assert.Equal(t, r.logs.FilterMessage("refused").Len(), 0)

	negative := &si.NodeInfo{NodeID: "n2", Action: si.NodeInfo_UPDATE, SchedulableResource: fakerm.Resource(-7, 8)}
	unnamed := &si.NodeInfo{NodeID: "n2", Action: si.NodeInfo_UPDATE,
		SchedulableResource: &si.Resource{Resources: map[string]*si.Quantity{"": {}}}}
	send(negative, unnamed)
	roundTrip(t, n)
	assert.Equal(t, int64(r.snapshot("default").Nodes.At(0).Total.Get("memory")), int64(100))
	assert.Equal(t, r.logs.FilterMessage("refused").Len(), 2, "a rejection would be taken as that of the registration")
}

func TestUpdateNode_UnknownActionAndInvalidIDAreAnswered(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n := r.openNodeStream()
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{
		{NodeID: "n1"},
		{NodeID: "n2", Action: 99},
		{Action: si.NodeInfo_UPDATE},
		{Action: si.NodeInfo_DRAIN_NODE},
		{NodeID: overlongID, Action: si.NodeInfo_DRAIN_TO_SCHEDULABLE},
		{Action: si.NodeInfo_DECOMISSION},
		{NodeID: "n3", Attributes: map[string]string{"si/node-partition": "gpu"}},
		{NodeID: "n4", Action: si.NodeInfo_UPDATE},
		{NodeID: "n5", Action: si.NodeInfo_DECOMISSION, Attributes: map[string]string{"si/node-partition": "gpu"}},
		fakerm.Node(""),
	}}))
	rejected := receive(t, n, 10, (*si.NodeResponse).GetRejected)
	const actions = ": the actions are CREATE, CREATE_DRAIN, UPDATE, DRAIN_NODE, DRAIN_TO_SCHEDULABLE and DECOMISSION"
	for i, want := range [][2]string{
		{"n1", "unknown action 0 for node n1" + actions},
		{"n2", "unknown action 99 for node n2" + actions},
		{"", "node ID is empty"},
		{"", "node ID is empty"},
		{overlongID[:maxID], "node ID has 1025 bytes, at most 1024 are allowed"},
		{"", "node ID is empty"},
		{"n3", "failed to find partition gpu for node n3"},
		{"n5", "failed to find partition gpu for node n5"},
		{"", "node ID is empty"},
		{"n4", "update of unknown node n4"}, // the partition answers, the others are answers of the API
	} {
		assert.Equal(t, rejected[i].NodeID, want[0])
		assert.Assert(t, strings.HasPrefix(rejected[i].Reason, want[1]), "%q", rejected[i].Reason)
	}
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n6")}}))
	assert.Equal(t, receive(t, n, 1, (*si.NodeResponse).GetAccepted)[0].NodeID, "n6")
	assert.Equal(t, r.logs.FilterMessage("refused").Len(), 0)
}

func TestUpdateNode_InvalidNodeIsRejectedAlone(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n := r.openNodeStream()
	negative := fakerm.Node("negative")
	negative.SchedulableResource = fakerm.Resource(-1, 1)
	otherPartition := fakerm.Node("unknownPartition")
	otherPartition.Attributes = map[string]string{"si/node-partition": "gpu"}
	badResource := fakerm.Node("badResource")
	badResource.SchedulableResource.Resources[""] = &si.Quantity{Value: 1}
	many := fakerm.Node("many")
	for i := range 300 {
		many.SchedulableResource.Resources[fmt.Sprint("r", i)] = &si.Quantity{Value: 1}
	}
	empty := fakerm.Node("empty")
	empty.SchedulableResource = nil
	good := fakerm.Node("good")
	good.Attributes = map[string]string{"si/node-partition": "[rm]default"}
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{
		fakerm.Node(""), fakerm.Node(overlongID), otherPartition, badResource, many, negative, empty, good,
	}}))
	var rejected []*si.RejectedNode
	var accepted []*si.AcceptedNode
	for len(rejected)+len(accepted) < 8 {
		m, err := n.Recv()
		assert.NilError(t, err)
		rejected, accepted = append(rejected, m.Rejected...), append(accepted, m.Accepted...)
	}
	got := map[string]string{}
	for _, x := range rejected {
		got[x.NodeID] = x.Reason
	}
	assert.Equal(t, got[""], "node ID is empty")
	assert.Assert(t, strings.HasPrefix(got[overlongID[:maxID]], "node ID has 1025 bytes, at most 1024"), "%v", got)
	assert.Equal(t, got["unknownPartition"], "failed to find partition gpu for node unknownPartition")
	assert.Equal(t, got["badResource"], "resource name is empty")
	assert.Equal(t, got["many"], "more than 256 different resource names")
	assert.Assert(t, strings.Contains(got["negative"], "negative"), got["negative"])
	assert.Equal(t, len(accepted), 2)
}

func TestUpdateApplication_EachIsAcceptedOrRejected(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	a := r.openApplicationStream()
	otherPartition := fakerm.App("unknownPartition", "root.a")
	otherPartition.PartitionName = "[other]default"
	withoutUser := fakerm.App("noUser", "root.a")
	withoutUser.Ugi = nil
	unnamed := fakerm.App("unnamed", "root.a")
	unnamed.Ugi.User = ""
	badGroup := fakerm.App("badGroup", "root.a")
	badGroup.Ugi.Groups = []string{""}
	badUser := fakerm.App("badUser", "root.a")
	badUser.Ugi.User = "no user"
	forced := fakerm.App("forced", "root.a")
	forced.Ugi, forced.Tags = nil, map[string]string{"Application.Create.Force": "TRUE"}
	notForced := fakerm.App("notForced", "root.a")
	notForced.Ugi, notForced.Tags = nil, map[string]string{"application.create.force": "maybe"}
	duplicate := fakerm.App("duplicate", "root.b")
	duplicate.Ugi.Groups, duplicate.PartitionName, duplicate.Tags = nil, "[rm]default", map[string]string{"x": "y"}
	assert.NilError(t, a.Send(&si.ApplicationRequest{
		New: []*si.AddApplicationRequest{
			fakerm.App("", "root.a"), fakerm.App(overlongID, "root.a"),
			fakerm.App("longQueue", strings.Repeat("q", maxQueueName+1)),
			otherPartition, withoutUser, unnamed, badGroup, badUser, notForced, forced, duplicate,
			fakerm.App("duplicate", "root.a"),
		},
		Remove: []*si.RemoveApplicationRequest{
			{}, {ApplicationID: "unknown"}, {ApplicationID: "x", PartitionName: "unknownNode"}, {ApplicationID: "forced"},
		},
	}))
	got := map[string]string{}
	accepted := 0
	for len(got)+accepted < 12 {
		m, err := a.Recv()
		assert.NilError(t, err)
		accepted += len(m.Accepted)
		for _, x := range m.Rejected {
			got[x.ApplicationID] = x.Reason
		}
	}
	assert.Equal(t, accepted, 2)
	assert.Equal(t, got[""], "application ID is empty")
	assert.Assert(t, strings.HasPrefix(got["longQueue"], "queue name has"), got["longQueue"])
	assert.Assert(t, strings.Contains(got["unknownPartition"], "partition doesn't exist"), got["unknownPartition"])
	assert.Equal(t, got["noUser"], "no user information")
	assert.Equal(t, got["unnamed"], "user name is empty")
	assert.Equal(t, got["badGroup"], "group name is empty")
	assert.Equal(t, got["badUser"], `invalid user name "no user"`)
	assert.Equal(t, got["notForced"], "no user information")
	assert.Assert(t, got["duplicate"] != "", "its ID is used already")
	assert.Equal(t, r.logs.FilterMessage("refused").Len(), 2, "an unknown application may be removed")

	b := r.snapshot("default").Root.Children.At(1)
	assert.Equal(t, b.Applications.At(0).ID, objects.AppID("duplicate"))
	assert.DeepEqual(t, b.Applications.At(0).User.Groups, []string{"u"})
	assert.Equal(t, b.Applications.At(0).Tags["x"], "y")
	assert.Equal(t, r.snapshot("default").Applications, 1, "new ones come before removals")
}

func TestUpdateApplication_ForcedWithoutUserHasFallbackOwner(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	a := r.openApplicationStream()
	forced := fakerm.App("forced", "root.a")
	forced.Ugi, forced.Tags = nil, map[string]string{"application.create.force": "true"}
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{forced}}))
	receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
	assert.DeepEqual(t, r.snapshot("default").Root.Children.At(0).Applications.At(0).User, userNobody)
}

func TestUpdateAllocation_InvalidAllocationIsRejectedAlone(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	negative, nothing := fakerm.Ask("negative", "app"), fakerm.Ask("noResources", "app")
	negative.ResourcePerAlloc, nothing.ResourcePerAlloc = fakerm.Resource(-1, 5), nil
	otherPartition, nowhere := fakerm.Ask("unknownPartition", "app"), fakerm.Ask("unknownNode", "app")
	otherPartition.PartitionName, nowhere.NodeID = "gpu", "n9"
	missing, placeholder := fakerm.Ask("missing", "app"), fakerm.Ask("placeholder", "app")
	missing.ResourcePerAlloc.Resources["gpu"], placeholder.Placeholder = nil, true
	foreign, required := fakerm.Ask("foreign", ""), fakerm.Ask("required", "app")
	foreign.AllocationTags = map[string]string{"foreign": "default"}
	required.AllocationTags = map[string]string{requiredNodeTag: overlongID}
	group, node := fakerm.Ask("group", "app"), fakerm.Ask("node", "app")
	group.TaskGroupName, node.NodeID = overlongID, overlongID
	assert.NilError(t, x.Send(&si.AllocationRequest{
		Allocations: []*si.Allocation{
			fakerm.Ask("", "app"), fakerm.Ask("noApplication", ""), fakerm.Ask("unknownApplication", "unknown"), negative,
			nothing, otherPartition,
			nowhere, placeholder, foreign, required, group, node, missing, fakerm.Ask("good", "app"),
		},
		Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{}, {ApplicationID: overlongID}, {AllocationKey: overlongID}, {ApplicationID: "app", PartitionName: "gpu"},
			{ApplicationID: "unknown"}, {AllocationKey: "unknown foreign"},
		}},
	}))
	got := map[string]string{}
	placedKeys := 0
	for len(got) < 12 || placedKeys < 2 {
		m, err := x.Recv()
		assert.NilError(t, err)
		placedKeys += len(m.New)
		for _, e := range m.RejectedAllocations {
			got[e.AllocationKey] = e.Reason
		}
	}
	assert.Equal(t, got[""], "allocation key is empty")
	assert.Equal(t, got["noApplication"], "application ID is empty")
	assert.Equal(t, got["unknownPartition"],
		"failed to find partition gpu, for application app and allocation unknownPartition")
	assert.Equal(t, got["foreign"], "trying to add a foreign request (non-allocation) foreign")
	for key, text := range map[string]string{
		"unknownApplication": "unknown application unknown", "negative": "negative", "noResources": "no resources",
		"unknownNode": "n9",
		"placeholder": "task group", "required": "required node ID", "group": "task group name", "node": "node ID",
	} {
		assert.Assert(t, strings.Contains(got[key], text), "%s: %q", key, got[key])
	}
	assert.Equal(t, r.logs.FilterMessage("refused").Len(), 4)
}

func TestUpdateAllocation_ForeignOccupiesTheNode(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	foreign := fakerm.Ask("f1", "")
	foreign.NodeID, foreign.AllocationTags = "n1", map[string]string{"foreign": "static"}
	odd := fakerm.Ask("f2", "")
	odd.NodeID, odd.AllocationTags = "n1", map[string]string{"foreign": "odd"}
	all := []*si.Allocation{foreign, odd, fakerm.Ask("k", "app")}
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: all}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)
	n1 := r.snapshot("default").Nodes.At(0)
	assert.Equal(t, int64(n1.Occupied.Get("memory")), int64(20))
	assert.Equal(t, n1.Foreign[0].Static, true)
	assert.Equal(t, n1.Foreign[1].Static, false)
	assert.Equal(t, r.p.Counts().Ignored["invalid-tag"], uint64(1))

	assert.NilError(t, x.Send(&si.AllocationRequest{
		Allocations: []*si.Allocation{fakerm.Ask("k2", "app")},
		Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{AllocationKey: "f1"}, {AllocationKey: "f2"},
		}},
	}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)
	assert.Assert(t, r.snapshot("default").Nodes.At(0).Occupied.IsZero())
}

func TestUpdateAllocation_ResizesInPlace(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)
	bigger := fakerm.Ask("k", "app")
	bigger.ResourcePerAlloc, bigger.NodeID = fakerm.Resource(30, 40), "n1"
	both := []*si.Allocation{bigger, fakerm.Ask("other", "app")}
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: both}))
	made := receive(t, x, 1, (*si.AllocationResponse).GetNew)[0]
	assert.Equal(t, made.AllocationKey, "other", "a resize is not answered")
	n1 := r.snapshot("default").Nodes.At(0)
	assert.Equal(t, int64(n1.Allocated.Get("memory")), int64(40))
	assert.Equal(t, int64(n1.Allocated.Get("vcore")), int64(50))
}

func TestUpdateAllocation_RecoveredIsReturnedAsNew(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	running := fakerm.Ask("k", "app")
	running.NodeID, running.ResourcePerAlloc = "n1", fakerm.Resource(1000, 1000) // more than the node has
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{running}}))
	got := receive(t, x, 1, (*si.AllocationResponse).GetNew)[0]
	assert.Equal(t, got.NodeID, "n1")
	assert.Assert(t, got.PreemptionPolicy == nil, "no policy was sent")
}

func TestUpdateAllocation_ReleasesAreReturnedUnlessTheyConfirm(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	m := &si.AllocationRequest{Releases: &si.AllocationReleasesRequest{}}
	for i := range 5 {
		key := fmt.Sprint(i)
		m.Allocations = append(m.Allocations, fakerm.Ask(key, "app"))
		m.Releases.AllocationsToRelease = append(m.Releases.AllocationsToRelease, &si.AllocationRelease{
			ApplicationID: "app", AllocationKey: key, TerminationType: si.TerminationType(i),
		})
	}
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: m.Allocations}))
	receive(t, x, 5, (*si.AllocationResponse).GetNew)
	assert.NilError(t, x.Send(&si.AllocationRequest{Releases: m.Releases}))
	echoed := receive(t, x, 2, (*si.AllocationResponse).GetReleased)
	assert.Equal(t, echoed[0].AllocationKey, "0")
	assert.Equal(t, echoed[1].AllocationKey, "1")
	for _, e := range echoed {
		assert.Equal(t, e.TerminationType, si.TerminationType_STOPPED_BY_RM)
	}
	assert.Equal(t, r.snapshot("default").Allocations, 0)
}

func TestPartitions_OneMessageForTwo(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.NilError(t, r.register("rm", twoPartitions))
	n := r.openNodeStream()
	gpu := fakerm.Node("n1") // the same name in both partitions
	gpu.Attributes = map[string]string{"si/node-partition": "gpu"}
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1"), gpu}}))
	receive(t, n, 2, (*si.NodeResponse).GetAccepted)
	a, x := r.openApplicationStream(), r.openAllocationStream()
	app := fakerm.App("app", "root.a")
	app.PartitionName = "gpu"
	apps := []*si.AddApplicationRequest{app, fakerm.App("app", "root.a")}
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: apps}))
	receive(t, a, 2, (*si.ApplicationResponse).GetAccepted)
	ask := fakerm.Ask("k", "app")
	ask.PartitionName = "[rm]gpu"
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{ask}}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)
	assert.Equal(t, r.snapshot("gpu").Allocations, 1)
	assert.NilError(t, x.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{ApplicationID: "app", PartitionName: "gpu"}},
	}}))
	assert.Equal(t, receive(t, x, 1, (*si.AllocationResponse).GetReleased)[0].PartitionName, "[rm]gpu")
}

// A partition that is being removed takes asks of the applications that it has, and no new application or node.
func TestUpdateAllocation_PartitionThatIsBeingRemovedTakesAsks(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.NilError(t, r.register("rm", twoPartitions))
	n, a, x := r.openNodeStream(), r.openApplicationStream(), r.openAllocationStream()
	node, app, ask := fakerm.Node("n1"), fakerm.App("app", "root.a"), fakerm.Ask("k", "app")
	node.Attributes = map[string]string{"si/node-partition": "gpu"}
	app.PartitionName, ask.PartitionName = "gpu", "gpu"
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{node}}))
	receive(t, n, 1, (*si.NodeResponse).GetAccepted)
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
	receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
	p, err := r.p.Reloads().Read(reload.REST, "", []byte(queues))
	assert.NilError(t, err)
	_, err = r.p.Reloads().Apply(t.Context(), p)
	assert.NilError(t, err)

	node.NodeID, app.ApplicationID = "n2", "late"
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{node}}))
	assert.Equal(t, receive(t, n, 1, (*si.NodeResponse).GetRejected)[0].Reason, "partition gpu is being removed")
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
	assert.Equal(t, receive(t, a, 1, (*si.ApplicationResponse).GetRejected)[0].Reason, "partition gpu is being removed")
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{ask}}))
	assert.Equal(t, receive(t, x, 1, (*si.AllocationResponse).GetNew)[0].NodeID, "n1")
}

func TestReadAsk_AllFields(t *testing.T) {
	s := &session{rm: "rm"}
	x := &si.Allocation{
		AllocationKey: "k", ApplicationID: "app", Priority: math.MinInt32, TaskGroupName: "tg", Placeholder: true,
		Originator: true, PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true},
		AllocationTags: map[string]string{"creationTime": "1700000000", requiredNodeTag: "n7", "other": "tag"},
	}
	ask, err := readAsk(&s.fromProto(&si.AllocationRequest{Allocations: []*si.Allocation{x}}).Allocations[0])
	assert.NilError(t, err)
	assert.Equal(t, ask.Priority, int32(math.MinInt32))
	assert.Equal(t, ask.Created.Time().Unix(), int64(1700000000))
	assert.Equal(t, ask.RequiredNode(), objects.NodeID("n7"))
	assert.Equal(t, ask.Policy, objects.PolicySent|objects.PolicyAllowPreemptSelf)
	assert.Assert(t, ask.Placeholder && ask.Originator && ask.TaskGroup() == "tg")
	assert.Equal(t, ask.Tags()["other"], "tag")
}

func TestCreationTime_InvalidIsIgnored(t *testing.T) {
	for _, text := range []string{"", "yesterday", "-1", "1.5", "9223372036854775807", "9223372037"} {
		assert.Assert(t, creationTime(map[string]string{"creationTime": text}).IsZero(), text)
	}
	assert.Equal(t, creationTime(map[string]string{"creationTime": "9223372036"}), time.Unix(9223372036, 0))
}

func TestUpdateAllocation_MessageIsAppliedAsAWhole(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	m := &si.AllocationRequest{
		Allocations: []*si.Allocation{fakerm.Ask("k", "app")},
		Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{ApplicationID: "app", AllocationKey: "k"},
		}},
	}
	for range 500 {
		assert.NilError(t, x.Send(m))
	}
	assert.NilError(t, x.CloseSend())
	answer, err := x.Recv()
	assert.Equal(t, err, io.EOF, "an ask that was taken back at once was never there: %v", answer)
}
