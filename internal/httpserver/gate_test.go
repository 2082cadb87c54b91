package httpserver

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestGate_LargeAnswersWaitForAMomentAndAreThenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := new(Counts)
		g := NewGate(4, counts)
		var leave []func()
		for _, host := range []string{"a", "a", "b", "c"} {
			l, err := g.Enter(t.Context(), host)
			assert.NilError(t, err)
			leave = append(leave, l)
		}
		assert.Equal(t, counts.LargeAnswers.Load(), int64(4))
		began := time.Now()
		_, err := g.Enter(t.Context(), "d")
		assert.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, time.Since(began), gatePatience)
		assert.Equal(t, counts.LargeRefused.Load(), uint64(1))

		var waits sync.WaitGroup
		for range 4 * waitersPerAnswer {
			waits.Go(func() {
				l, err := g.Enter(t.Context(), "d")
				if err == nil {
					l()
				}
			})
		}
		synctest.Wait()
		began = time.Now()
		_, err = g.Enter(t.Context(), "d")
		assert.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, time.Since(began), time.Duration(0), "the queue is full")
		for _, l := range leave {
			l()
			l() // twice is once
		}
		waits.Wait()
		assert.Equal(t, counts.LargeAnswers.Load(), int64(0))
		assert.Equal(t, counts.LargeRefused.Load(), uint64(2))
	})
}

func TestGate_OneHostLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(4, new(Counts))
		for range 3 {
			_, err := g.Enter(t.Context(), "greedy")
			assert.NilError(t, err)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		_, err := g.Enter(ctx, "greedy")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = g.Enter(t.Context(), "other")
		assert.NilError(t, err)
	})
}
