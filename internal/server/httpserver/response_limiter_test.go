package httpserver

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestResponseLimiter_WaitsAndThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := new(Counts)
		g := NewResponseLimiter(4, counts)
		var releases []func()
		for _, host := range []string{"a", "a", "b", "c"} {
			l, err := g.Acquire(t.Context(), host)
			assert.NilError(t, err)
			releases = append(releases, l)
		}
		assert.Equal(t, counts.LargeAnswers.Load(), int64(4))
		began := time.Now()
		_, err := g.Acquire(t.Context(), "d")
		assert.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, time.Since(began), largeAnswerTimeout)
		assert.Equal(t, counts.LargeRefused.Load(), uint64(1))

		var waits sync.WaitGroup
		for range 4 * waitersPerAnswer {
			waits.Go(func() {
				l, err := g.Acquire(t.Context(), "d")
				if err == nil {
					l()
				}
			})
		}
		synctest.Wait()
		began = time.Now()
		_, err = g.Acquire(t.Context(), "d")
		assert.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, time.Since(began), time.Duration(0), "the queue is full")
		for _, l := range releases {
			l()
			l() // a second call has no effect
		}
		waits.Wait()
		assert.Equal(t, counts.LargeAnswers.Load(), int64(0))
		assert.Equal(t, counts.LargeRefused.Load(), uint64(2))
	})
}

func TestResponseLimiter_OneHostDoesNotTakeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewResponseLimiter(4, new(Counts))
		for range 3 {
			_, err := g.Acquire(t.Context(), "greedy")
			assert.NilError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := g.Acquire(ctx, "greedy")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = g.Acquire(t.Context(), "other")
		assert.NilError(t, err)
	})
}
