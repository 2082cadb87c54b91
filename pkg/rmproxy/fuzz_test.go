package rmproxy

import (
	"context"
	"math"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Whatever bytes arrive: neither the API nor the core panics, every answer can be marshalled, and
// the accounting is consistent. A message is handled twice, because most names are known the
// second time.
func fuzzMessage(t *testing.T, conf *reload.Proposal, k streamKind, bytes []byte) {
	m := newRequest(k)
	if m.decode(bytes) != nil {
		t.Skip("gRPC refuses the message")
	}
	p := newTestProxy(testOptions{InitialConfig: conf, IgnoreRMConfig: true})
	defer p.stop()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm"}, open))
	s := p.current()
	s.handle(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}})
	s.handle(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")}})
	s.handle(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k1", "app"), fakerm.Ask("k2", "app")}})
	for range 2 {
		s.noteLegacy(m)
		m.handle(s)
		for _, name := range p.cluster.Partitions() {
			l, _ := p.cluster.Partition(name)
			assert.NilError(t, l.Check(context.Background()))
			_, err := l.Snapshot(context.Background())
			assert.NilError(t, err)
		}
	}
	for k, b := range s.outboxes {
		encode := s.encoder(streamKind(k))
		for batch := b.takeBatch(); batch != nil; batch = b.takeBatch() {
			_, err := newCodec().Marshal(encode(batch))
			assert.NilError(t, err)
			b.delivered()
		}
	}
}

// legacyMessage is a message of any version of the interface, from its text.
func legacyMessage(f *testing.F, name protoreflect.Name, text string) proto.Message {
	m := dynamicpb.NewMessage(allWithMessage.ByName(name))
	assert.NilError(f, prototext.Unmarshal([]byte(text), m))
	return m
}

// addSeeds adds messages to a corpus.
func addSeeds(f *testing.F, messages ...proto.Message) *reload.Proposal {
	f.Helper()
	for _, m := range messages {
		bytes, err := proto.Marshal(m)
		assert.NilError(f, err)
		f.Add(bytes)
	}
	first, err := reload.Read(reload.File, "", []byte(twoPartitions), queuesyaml.Options{})
	assert.NilError(f, err)
	return first
}

func FuzzNodeRequest(f *testing.F) {
	m := &si.NodeRequest{RmID: "rm"}
	for action := range si.NodeInfo_ActionFromRM_name {
		n := fakerm.Node("n1")
		n.Action, n.Attributes = si.NodeInfo_ActionFromRM(action), map[string]string{"si/node-partition": "gpu"}
		m.Nodes = append(m.Nodes, n)
	}
	huge := fakerm.Node("n2")
	huge.SchedulableResource = fakerm.Resource(math.MaxInt64, math.MinInt64)
	decommissioned := &si.NodeInfo{NodeID: "n1", Action: si.NodeInfo_DECOMISSION}
	existing := legacyMessage(f, "NodeRequest", `nodes {
		nodeID: "n3" action: CREATE attributes {key: "ready" value: "false"}
		occupiedResource {resources {key: "vcore" value {value: -1}}}
		existingAllocations {allocationKey: "k1" UUID: "k1" applicationID: "app"
			priority {priorityClassName: "x"} resourcePerAlloc {resources {key: "vcore" value {value: 1}}}}
		existingAllocations {allocationKey: "e" UUID: "other" applicationID: "app"}
	} nodes {nodeID: "n3" action: UPDATE occupiedResource {}} nodes {nodeID: "n1" action: DRAIN_NODE occupiedResource {}}
	nodes {existingAllocations {}}`)
	conf := addSeeds(f, m, &si.NodeRequest{Nodes: []*si.NodeInfo{huge, huge, decommissioned}}, existing)
	f.Fuzz(func(t *testing.T, bytes []byte) { fuzzMessage(t, conf, nodeStream, bytes) })
}

func FuzzApplicationRequest(f *testing.F) {
	gang := fakerm.App("gang", "root.b")
	gang.PlaceholderAsk, gang.GangSchedulingStyle, gang.ExecutionTimeoutMilliSeconds = fakerm.Resource(1, 1), "Hard", -1
	gang.Ugi, gang.Tags = nil, map[string]string{
		"application.create.force": "true", "namespace": "x", "namespace.resourcequota": "{}",
	}
	conf := addSeeds(f, &si.ApplicationRequest{
		RmID: "rm", New: []*si.AddApplicationRequest{gang, fakerm.App("app", "root..")},
		Remove: []*si.RemoveApplicationRequest{{ApplicationID: "app", PartitionName: "[rm]default"}, {}},
	})
	f.Fuzz(func(t *testing.T, bytes []byte) { fuzzMessage(t, conf, applicationStream, bytes) })
}

func FuzzAllocationRequest(f *testing.F) {
	resize, foreign := fakerm.Ask("k1", "app"), fakerm.Ask("f", "")
	report, daemon := fakerm.Ask("k3", "app"), fakerm.Ask("k4", "app")
	resize.ResourcePerAlloc = fakerm.Resource(math.MaxInt64, 1)
	foreign.NodeID, foreign.AllocationTags = "n1", map[string]string{"foreign": "static", "creationTime": "1"}
	report.NodeID, report.Placeholder, report.TaskGroupName = "n1", true, "tg"
	daemon.AllocationTags = map[string]string{requiredNodeTag: "n1"}
	daemon.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true}
	conf := addSeeds(f,
		&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{resize, foreign, report, daemon}},
		&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{ApplicationID: "app", AllocationKey: "k1", TerminationType: 3}, {AllocationKey: "f"},
			{ApplicationID: "app", TerminationType: 99}, {PartitionName: "gpu", ApplicationID: "app"},
		}}},
		legacyMessage(f, "AllocationRequest", `asks {
			allocationKey: "k5" applicationID: "app" maxAllocations: 1
			priority {priorityClassName: "x"} resourceAsk {resources {key: "vcore" value {value: 1}}}
		} asks {allocationKey: "k6" applicationID: "app" maxAllocations: -1}
		allocations {allocationKey: "k7" UUID: "k7" allocationID: "k8" nodeID: "n1"}
		releases {
			allocationAsksToRelease {applicationID: "app" allocationKey: "k1"} allocationAsksToRelease {allocationKey: "k1"}
			allocationsToRelease {applicationID: "app" UUID: "k2"}
			allocationsToRelease {applicationID: "app" allocationKey: "k2" allocationID: "k1"}
		}`),
	)
	f.Fuzz(func(t *testing.T, bytes []byte) { fuzzMessage(t, conf, allocationStream, bytes) })
}
