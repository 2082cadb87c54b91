package rmproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

func wantStatus(t *testing.T, err error, code codes.Code, texts ...string) {
	t.Helper()
	assert.Equal(t, status.Code(err), code, "%v", err)
	for _, text := range texts {
		assert.ErrorContains(t, err, text)
	}
}

func TestRegister_QueuesExistBeforeRegistration(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.DeepEqual(t, r.p.Cluster().Partitions(), []string{"default"})
	_, ok := r.p.Registration()
	assert.Assert(t, !ok)
}

func TestRegister_RMIDIsValidated(t *testing.T) {
	r := newRig(t, testOptions{})
	wantStatus(t, r.register("", queues), codes.InvalidArgument, "rmID is empty")
	wantStatus(t, r.register(strings.Repeat("x", 1025), queues), codes.InvalidArgument,
		"rmID has 1025 bytes, at most 1024 are allowed")
	wantStatus(t, r.register(strings.Repeat("x", 2000), queues), codes.InvalidArgument,
		"rmID has 2000 bytes, at most 1024 are allowed")
	for _, id := range []string{"a\nb", "a\x00", "\t", "\x7f", "a\u0085"} {
		wantStatus(t, r.register(id, queues), codes.InvalidArgument, fmt.Sprintf("rmID has a control character: %q", id))
	}
	assert.NilError(t, r.register(strings.Repeat("x", 1024), queues))
}

func TestRegister_InvalidConfigurationIsRejectedWithAllProblems(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	const bad = `
partitions:
  - name: default
    queues:
      - name: root
        submitACL: '*'
        queues:
          - name: a.b
            resources: {max: {memory: 10Q}}
`
	err := r.register("rm", bad)
	wantStatus(t, err, codes.InvalidArgument, "submitACL", "a.b", "10Q")

	// The old registration goes on: its streams were not ended.
	x := r.openAllocationStream()
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
	assert.Equal(t, receive(t, x, 1, (*si.AllocationResponse).GetNew)[0].NodeID, "n1")
}

func TestRegister_ErrorTextIsBounded(t *testing.T) {
	r := newRig(t, testOptions{})
	var bad strings.Builder
	bad.WriteString("partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n")
	for range 5000 {
		bad.WriteString("          - name: not.a.name\n")
	}
	err := r.register("rm", bad.String())
	wantStatus(t, err, codes.InvalidArgument, "more problems")
	assert.Assert(t, len(err.Error()) < 80<<10, "%d bytes", len(err.Error()))
}

func TestRegister_ConfigurationBoundsAreEnforced(t *testing.T) {
	r := newRig(t, testOptions{Reload: reload.Options{Bounds: queuesyaml.Options{MaxQueues: 1}}})
	wantStatus(t, r.register("rm", queues), codes.InvalidArgument, "more than max-queues (1) queues")
}

func TestRegister_SecondRMIsRejected(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	wantStatus(t, r.register("other", queues), codes.FailedPrecondition,
		"RM rm has been registered before, active partitions 1")
	assert.NilError(t, r.register("rm", queues))
}

func TestRegister_RegistrationIsReadable(t *testing.T) {
	r := newRig(t, testOptions{})
	request := &si.RegisterResourceManagerRequest{
		RmID: "rm", Version: "1.9", PolicyGroup: "queues", Config: queues,
		BuildInfo: map[string]string{"arch": "amd64"}, ExtraConfig: map[string]string{"log.level": "info"},
	}
	_, err := r.client.RegisterResourceManager(r.ctx, request)
	assert.NilError(t, err)
	got, ok := r.p.Registration()
	assert.Assert(t, ok)
	assert.Equal(t, got.RM, "rm")
	assert.Equal(t, got.Version, "1.9")
	assert.Equal(t, got.PolicyGroup, "queues")
	assert.DeepEqual(t, got.BuildInfo, request.BuildInfo)
	assert.DeepEqual(t, got.ExtraConfig, request.ExtraConfig)
	assert.Assert(t, !got.At.IsZero())

	// A refused registration does not change it, nor the extra configuration (CFG-98).
	request.Config, request.ExtraConfig = "nonsense", map[string]string{"log.level": "debug"}
	_, err = r.client.RegisterResourceManager(r.ctx, request)
	wantStatus(t, err, codes.InvalidArgument)
	got, ok = r.p.Registration()
	assert.Assert(t, ok)
	assert.Equal(t, got.ExtraConfig["log.level"], "info")
}

func TestRegister_EmptyConfigurationMeansTheDefault(t *testing.T) {
	r := newRig(t, testOptions{})
	initial := r.p.Cluster().Config().Checksum
	assert.NilError(t, r.register("rm", twoPartitions))
	assert.DeepEqual(t, r.p.Cluster().Partitions(), []string{"default", "gpu"})
	assert.NilError(t, r.register("rm", ""))
	assert.Equal(t, r.p.Cluster().Config().Checksum, initial)
	assert.DeepEqual(t, r.p.Cluster().Partitions(), []string{"default"})
}

func TestRegister_FileConfigurationOverridesRM(t *testing.T) {
	first, err := reload.Read(reload.File, "queues.yaml", []byte(queues), queuesyaml.Options{})
	assert.NilError(t, err)
	r := newRig(t, testOptions{InitialConfig: first, IgnoreRMConfig: true})
	assert.NilError(t, r.register("rm", twoPartitions))
	assert.DeepEqual(t, r.p.Cluster().Partitions(), []string{"default"})
	assert.Equal(t, r.logs.FilterMessageSnippet("is ignored: a file was given").Len(), 1)
}

func TestRegister_RefusalIsLogged(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	refusals := func(rm string) []observer.LoggedEntry {
		return r.logs.FilterMessage("registration refused").FilterField(zap.String("rm", rm)).All()
	}
	assert.Assert(t, r.register("other", queues) != nil)
	assert.Equal(t, len(refusals("other")), 1)
	assert.Assert(t,
		strings.Contains(refusals("other")[0].ContextMap()["reason"].(string), "RM rm has been registered before"))

	// The problems of a configuration are in the line about the configuration.
	assert.Assert(t, r.register("rm", "partitions: [{queues: [{name: a.b}]}]") != nil)
	assert.Equal(t, refusals("rm")[0].ContextMap()["reason"], "registration of RM failed: invalid configuration:")

	_, err := r.p.InProcess().RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "linked"},
		&fakerm.Recorder{})
	assert.Assert(t, err != nil)
	assert.Equal(t, len(refusals("linked")), 1)
}

func TestRegister_WarningsAreLogged(t *testing.T) {
	r := newRig(t, testOptions{})
	assert.NilError(t, r.register("rm", "partitions: [{queues: [{name: root}]}]"))
	got := r.logs.FilterMessage("configuration warning").FilterField(zap.String("source", "rm"))
	assert.Assert(t, got.Len() > 0)
}

func TestReregister_StartsEmpty(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n, a, x := r.openNodeStream(), r.openApplicationStream(), r.openAllocationStream()
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
	receive(t, n, 1, (*si.NodeResponse).GetAccepted)
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")}}))
	receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
	// A stream belongs to the registration that is in force when its first message is read.
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "unknown")}}))
	receive(t, x, 1, (*si.AllocationResponse).GetRejectedAllocations)

	assert.NilError(t, r.register("rm", queues))
	assertStreamFails(t, n, codes.Aborted, "re-registered")
	assertStreamFails(t, a, codes.Aborted, "re-registered")
	assertStreamFails(t, x, codes.Aborted, "re-registered")

	// The RM reports everything again, under the same names.
	r.withNodeAndApp()
	x = r.openAllocationStream()
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)
}

func TestReregister_LeafWithApplicationsMayBecomeParent(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	deeper := strings.Replace(queues, "- name: a\n", "- name: a\n            queues: [{name: c}]\n", 1)
	assert.NilError(t, r.register("rm", deeper))
	a := r.openApplicationStream()
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app", "root.a.c")}}))
	receive(t, a, 1, (*si.ApplicationResponse).GetAccepted)
}

func TestReregister_DropsUndeliveredEffects(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)

	// These state changes have not been read.
	assert.NilError(t, r.register("rm", queues))
	a := r.openApplicationStream()
	assert.NilError(t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app2", "root.a")}}))
	m, err := a.Recv()
	assert.NilError(t, err)
	assert.Equal(t, len(m.Updated), 0)
	assert.Equal(t, m.Accepted[0].ApplicationID, "app2")
}

func TestReregister_UnderLoad(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	for range 20 {
		r.withNodeAndApp()
		x := r.openAllocationStream()
		for range 50 {
			// The client does not read: effects are in the outbox, in the loop, and between them.
			m := &si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app"), fakerm.Ask("bad", "unknown")}}
			if x.Send(m) != nil {
				break
			}
		}
		assert.NilError(t, r.register("rm", queues))
	}
}

func TestClose_EndsStreamsAndRejectsRegistration(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n := r.openNodeStream()
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
	receive(t, n, 1, (*si.NodeResponse).GetAccepted)
	r.p.stop()
	assertStreamFails(t, n, codes.Unavailable, "stopping")
	wantStatus(t, r.register("rm", queues), codes.Unavailable)
}
