package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// blockedOracle is an oracle that blocks until it is released.
type blockedOracle struct{ asked, release chan struct{} }

func (s *blockedOracle) Fits(objects.AllocationKey, objects.NodeID) bool {
	close(s.asked)
	<-s.release
	return true
}

func TestHealth_AnswersWhileTheLoopIsBlocked(t *testing.T) {
	for _, syncDelivery := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rm := &blockedOracle{make(chan struct{}), make(chan struct{})}
			l, stop := run(t, &recordingSink{}, &objects.Oracle{Fits: rm.Fits}, loop.Options{SyncDelivery: syncDelivery})
			synctest.Wait()
			h := l.Health()
			assert.Assert(t, h.Idle && !h.Ended && h.Waiting == 0, "%+v", h)

			blockedAt := time.Now().UTC()
			l.Send(node("n1", 1), app("app"), ask("k1"))
			<-rm.asked
			time.Sleep(time.Minute)
			l.Send(ask("k2"))
			l.Send(ask("k3"))
			h = l.Health()
			assert.Assert(t, !h.Idle && !h.AtRest)
			assert.Equal(t, h.Waiting, 2)
			assert.Assert(t, !h.Progress.After(blockedAt), "%v", h.Progress)

			close(rm.release)
			synctest.Wait()
			h = l.Health()
			assert.Assert(t, h.Idle && h.Waiting == 0, "%+v", h)
			assert.Assert(t, h.Progress.Equal(blockedAt.Add(time.Minute)), "%v", h.Progress)
			stop()
			assert.Assert(t, l.Health().Ended)
		})
	}
}

// A loop that has too many undelivered effects is at rest, but not idle: a decision is left to make.
func TestHealth_WaitingForTheSinkIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &blockedSink{released: make(chan struct{})}
		l, stop := run(t, sink, nil, loop.Options{MaxUndelivered: 1})
		l.Send(node("n1", 3), app("app"))
		synctest.Wait() // the Sink has the first batch
		l.Send(ask("k1"), ask("k2"), ask("k3"))
		synctest.Wait()
		h := l.Health()
		assert.Assert(t, h.AtRest && !h.Idle && h.Waiting == 0, "%+v", h)

		close(sink.released)
		synctest.Wait()
		h = l.Health()
		assert.Assert(t, h.AtRest && h.Idle, "%+v", h)
		stop()
	})
}

func TestHealth_HoldsTheLastAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := run(t, &recordingSink{}, nil, loop.Options{})
		assert.Assert(t, l.Health().Audit.Finished.IsZero())
		l.Send(node("n1", 1), app("app"), ask("k1"))
		a, err := l.Audit(t.Context())
		assert.NilError(t, err)
		assert.NilError(t, a.Err)
		assert.Assert(t, a.Checked > 0)
		assert.DeepEqual(t, l.Health().Audit, a)
		stop()
		_, err = l.Audit(t.Context())
		assert.ErrorIs(t, err, loop.ErrEnded)
	})
}
