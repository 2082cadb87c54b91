package rmproxy

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// One scheduler serves both APIs, for one RM at a time: an RM that registers over the other API starts
// over there. Only a linked shim is asked for predicates (RMI-71).
func TestProxy_ServesBothAPIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		linked, s := &linkedCore{r.p.InProcess(), t, r.logs}, &fakerm.Recorder{}
		bothCanPlace := func() {
			linked.register(s)
			linked.addNodes("n1")
			linked.addApp()
			linked.submitAsks("k")
			synctest.Wait()
			assert.Equal(t, strings.Join(s.Calls(), "; "), "nodes +1 -0; applications +1 -0; applications +0 -0 Accepted; "+
				"fits k@n1 allocate=true; applications +0 -0 Running; allocations k@n1")
			s.ForgetCalls()
			status, ok := r.p.ConnectionStatus()
			assert.Assert(t, ok && status.InProcess && status.Listening)

			assert.NilError(t, r.register("rm", queues))
			r.withNodeAndApp()
			answers := r.openAllocationStream()
			assert.NilError(t, answers.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
			placed := receive(t, answers, 1, (*si.AllocationResponse).GetNew)
			assert.Equal(t, placed[0].NodeID, "n1")
			assert.Equal(t, len(s.Calls()), 0, "%v", s.Calls())
			status, ok = r.p.ConnectionStatus()
			assert.Assert(t, ok && !status.InProcess && status.Listening)
			r.check()
		}
		bothCanPlace()
		bothCanPlace()

		// While the RM is registered over gRPC, its calls in process fail; and the other way round.
		assert.Error(t, linked.UpdateNode(&si.NodeRequest{RmID: "rm"}), "not registered here: RM rm is registered over gRPC")
		assert.ErrorIs(t, linked.UpdateAllocation(&si.AllocationRequest{RmID: "rm"}), ErrNotRegistered)
		assert.Error(t, linked.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: queues}),
			"update of configuration failed: not registered here: RM rm is registered over gRPC")
		linked.register(s)
		stream, err := r.client.UpdateNode(r.ctx)
		assert.NilError(t, err)
		assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "rm"}))
		assertStreamFails(t, stream, codes.FailedPrecondition, "RM rm is registered in process")

		// Another RM does not replace a linked shim, nor a connected RM.
		assert.ErrorContains(t, r.register("other", queues), "RM rm has been registered before")
		assert.NilError(t, r.register("rm", queues))
		r.openAllocationStream()
		synctest.Wait()
		_, err = linked.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "other"}, s)
		assert.ErrorIs(t, err, ErrOtherRM)
	})
}
