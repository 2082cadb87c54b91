package rmproxy

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestPanic_EndsItsStreamOnly(t *testing.T) {
	r := newRegisteredRig(t, testOptions{OnAPIRejected: func(scheduler.Effect) { panic("a fault") }})
	r.withNodeAndApp()
	n, x := r.openNodeStream(), r.openAllocationStream()
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("")}}))
	assertStreamFails(t, n, codes.Internal, "the scheduler failed to handle a message")
	panics := r.logs.FilterMessage("panic in a stream").All()
	assert.Equal(t, len(panics), 1)
	assert.Equal(t, panics[0].ContextMap()["panic"], "a fault")
	assert.Assert(t, panics[0].ContextMap()["stack"] != "")

	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
	assert.Equal(t, receive(t, x, 1, (*si.AllocationResponse).GetNew)[0].NodeID, "n1", "other streams go on")
	again := r.openNodeStream()
	assert.NilError(t, again.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n2")}}))
	receive(t, again, 1, (*si.NodeResponse).GetAccepted)
}

func TestPanic_EndsItsRegistrationOnly(t *testing.T) {
	var faulty atomic.Bool
	r := newRig(t,
		testOptions{Directories: func(*configs.Config, map[string]engine.Directory) (map[string]engine.Directory, error) {
			if faulty.Load() {
				panic("a fault")
			}
			return nil, nil
		}})
	faulty.Store(true)
	wantStatus(t, r.register("rm", queues), codes.Internal, "the scheduler failed to handle the registration")
	assert.Equal(t, r.logs.FilterMessage("panic in a registration").Len(), 1)
	faulty.Store(false)
	assert.NilError(t, r.register("rm", queues))
	r.withNodeAndApp()
}

func TestRegister_CancelledCallIsCarriedThrough(t *testing.T) {
	begun, cancelled := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	r := newRig(t,
		testOptions{Directories: func(*configs.Config, map[string]engine.Directory) (map[string]engine.Directory, error) {
			if armed.CompareAndSwap(true, false) {
				close(begun)
				<-cancelled
			}
			return nil, nil
		}})
	armed.Store(true)
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := r.client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "rm", Config: twoPartitions})
		ended <- err
	}()
	<-begun
	cancel()
	wantStatus(t, <-ended, codes.Canceled)
	_, ok := r.p.Registration()
	assert.Assert(t, !ok)
	close(cancelled)

	// The next registration waits for the end of the cancelled one, and is refused because of it.
	wantStatus(t, r.register("other", queues), codes.FailedPrecondition,
		"RM rm has been registered before, active partitions 2")
	got, ok := r.p.Registration()
	assert.Assert(t, ok)
	assert.Equal(t, got.RM, "rm")
	assert.DeepEqual(t, r.p.Cluster().Partitions(), []string{"default", "gpu"})
}
