package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// informedRM is a resource manager that checks that predicates are called only after all effects
// were delivered.
type informedRM struct {
	recordingSink
	asked, queriedEarly int
	want                string
}

func (r *informedRM) Fits(objects.AllocationKey, objects.NodeID) bool {
	r.asked++
	if r.text() != r.want {
		r.queriedEarly++
	}
	return false
}

// A dry run calls predicates only after all effects were delivered, those of commands in the same
// mailbox included.
func TestDryRun_DeliversEffectsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &informedRM{want: "accepted node n1; accepted application app; application app is Accepted"}
		l, stop := run(t, rm, &objects.Oracle{Fits: rm.Fits}, loop.Options{SyncDelivery: true})
		l.Send(node("n1", 1), app("app"), ask("k1"))
		got, err := l.DryRun(t.Context(), scheduler.DryRunRequest{Key: "k1"})
		assert.NilError(t, err)
		assert.Assert(t, got.Pending)
		assert.Equal(t, got.Verdict, scheduler.Verdict{Reason: scheduler.NodesRejectedByRM}.String())
		stop()
		assert.Assert(t, rm.asked > 0 && rm.queriedEarly == 0, "asked %d times, %d times before it was told", rm.asked,
			rm.queriedEarly)
	})
}

// A dry run ends with its context, and with the loop.
func TestDryRun_EndsWithContextOrLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &slowRM{}
		l, stop := run(t, rm, &objects.Oracle{Fits: rm.Fits}, loop.Options{SyncDelivery: true})
		l.Send(node("n1", 1), app("app"), ask("k1"))
		synctest.Wait() // the delivery of k1 takes 30 s
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := make(chan error)
		go func() {
			_, err := l.DryRun(short, scheduler.DryRunRequest{Key: "k1"})
			first <- err
		}()
		assert.ErrorIs(t, <-first, context.DeadlineExceeded)
		_, err := l.DryRun(t.Context(), scheduler.DryRunRequest{Key: "k1"})
		assert.ErrorIs(t, err, objects.ErrUnknown, "k1 is placed already")
		stop()
		_, err = l.DryRun(t.Context(), scheduler.DryRunRequest{Key: "k1"})
		assert.ErrorIs(t, err, loop.ErrEnded)
	})
}
