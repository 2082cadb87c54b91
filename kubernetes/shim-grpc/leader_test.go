package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"
)

// replica is one of several shims with the same lease.
type replica struct {
	metrics *metrics
	stop    context.CancelFunc
	ended   chan error
}

// startReplica starts a shim that leads if it gets the lease, which lasts for a time.
func (f *fixture) startReplica(lease string, duration time.Duration) *replica {
	f.t.Helper()
	conn, err := dial(f.address, "", "")
	assert.NilError(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	r := &replica{newMetrics(), cancel, make(chan error, 1)}
	f.t.Cleanup(func() {
		cancel()
		assert.Check(f.t, conn.Close())
	})
	go func() {
		times := leaseTimes{duration, 2 * time.Second, 100 * time.Millisecond}
		r.ended <- lead(ctx, f.client, lease, times, r.metrics, func(ctx context.Context) error {
			return run(ctx, settings{rmID: "kubernetes", schedulerName: "canopy"}, f.client, conn, r.metrics)
		})
	}()
	return r
}

func (f *fixture) holder() string {
	lease, err := f.client.CoordinationV1().Leases("canopy").Get(f.t.Context(), "shim", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// Of two replicas one schedules. The other one takes over at once when the first ends, and after the lease when it is
// cut off; nothing moves, and nothing is bound twice.
func TestLeader_HandsOver(t *testing.T) {
	f := newFixture(t, testQueues, testNode("n1", nil))
	away := atomic.Pointer[string]{} // the replica that the API server does not hear
	f.client.PrependReactor("update", "leases", func(action kubetesting.Action) (bool, runtime.Object, error) {
		lease := action.(kubetesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		if cut := away.Load(); cut != nil && *cut == *lease.Spec.HolderIdentity {
			return true, nil, errors.New("the API server is away")
		}
		return false, nil, nil
	})
	f.startServer()
	first := f.startReplica("canopy/shim", time.Hour) // which another one would wait for
	f.untilWatched()
	second := f.startReplica("canopy/shim", 3*time.Second)
	f.create(testPod("p1", "1", nil), testPod("waits", "5", nil))
	before := f.untilPlaced(1)
	f.untilCondition("waits", "Unschedulable", "")
	assert.Equal(t, len(f.watched), 0, "the standby does nothing")
	assert.Assert(t, second.metrics.ready.Load())

	was := f.holder()
	first.stop()
	assert.NilError(t, <-first.ended)
	f.untilWatched()
	assert.Assert(t, f.holder() != was)
	f.create(testPod("p2", "1", nil))
	after := f.untilPlaced(2)
	delete(after, "p2")
	assert.DeepEqual(t, before, after)

	// The lease is lost while a third replica waits: its holder ends its work.
	third := f.startReplica("canopy/shim", 3*time.Second)
	holder := f.holder()
	away.Store(&holder)
	f.untilWatched()
	f.create(testPod("p3", "1", nil))
	f.untilPlaced(3)
	assert.Error(t, <-second.ended, "the lease canopy/shim is lost")
	third.stop()
	assert.NilError(t, <-third.ended)
	for name, times := range f.bindings {
		assert.Equal(t, times, 1, name)
	}
}

func TestLeader_RefusesTheFlag(t *testing.T) {
	for _, lease := range []string{"shim", "a/b/c", "/shim", "canopy/"} {
		err := lead(t.Context(), nil, lease, usualLease, newMetrics(), nil)
		assert.ErrorContains(t, err, "--leader-elect must be NAMESPACE/NAME")
	}
}
