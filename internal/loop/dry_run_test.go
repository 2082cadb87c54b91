package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// informedRM is a resource manager that is only asked after it has heard of everything.
type informedRM struct {
	recordingSink
	asked, queriedEarly int
	want                string
}

func (r *informedRM) Fits(objects.AllocationKey, objects.NodeID) bool {
	if r.asked++; r.text() != r.want {
		r.queriedEarly++
	}
	return false
}

// A question about an ask that waits is asked of the resource manager like any other: it has
// been told before, also what came in the same mail.
func TestDryRun_DeliversEffectsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &informedRM{want: "accepted node n1; accepted application app; application app is Accepted"}
		l, stop := run(t, rm, rm, loop.Options{SyncDelivery: true})
		l.Send(node("n1", 1), app("app"), ask("k1"))
		got, err := l.DryRun(t.Context(), scheduler.DryRunRequest{Key: "k1"})
		assert.NilError(t, err)
		assert.Assert(t, got.Pending)
		assert.Equal(t, got.Verdict.Reason, scheduler.NodesRejectedByRM)
		stop()
		assert.Assert(t, rm.asked > 0 && rm.queriedEarly == 0, "asked %d times, %d times before it was told", rm.asked, rm.queriedEarly)
	})
}

// Whoever has gone is not answered, and nobody is answered by a loop that has ended.
func TestDryRun_EndsWithContextOrLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &slowRM{}
		l, stop := run(t, rm, rm, loop.Options{SyncDelivery: true})
		l.Send(node("n1", 1), app("app"), ask("k1"))
		synctest.Wait() // it tells of k1 for half a minute
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := make(chan error)
		go func() {
			_, err := l.DryRun(short, scheduler.DryRunRequest{Key: "k1"})
			first <- err
		}()
		assert.ErrorIs(t, <-first, context.DeadlineExceeded)
		_, err := l.DryRun(t.Context(), scheduler.DryRunRequest{Key: "k1"})
		assert.ErrorIs(t, err, objects.ErrUnknown, "it is placed")
		stop()
		_, err = l.DryRun(t.Context(), scheduler.DryRunRequest{Key: "k1"})
		assert.ErrorIs(t, err, loop.ErrEnded)
	})
}
