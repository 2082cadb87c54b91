package coalesce

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// counted returns a build that takes a second and counts how often it ran.
func counted(n *int) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		select {
		case <-time.After(time.Second):
			*n++
			return *n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func TestGroup_ConcurrentCallersShareOneValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		n := 0
		var all sync.WaitGroup
		first := make([]int, 10)
		late := make([]int, 10)
		for i := range first {
			all.Go(func() { first[i], _ = g.Do(t.Context(), counted(&n)) })
		}
		all.Go(func() {
			time.Sleep(500 * time.Millisecond)
			for i := range late {
				all.Go(func() { late[i], _ = g.Do(t.Context(), counted(&n)) })
			}
		})
		all.Wait()
		assert.Assert(t, n <= 3, "%d builds for 20 callers", n)
		for _, v := range late {
			assert.Assert(t, v > 1, "a caller got a value whose build began before the call")
			assert.Equal(t, v, late[0])
		}
	})
}

func TestGroup_CancelsBuildWithoutCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		n := 0
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := g.Do(ctx, counted(&n))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(10 * time.Second)
		assert.Equal(t, n, 0, "a build without callers was not cancelled")
		v, err := g.Do(t.Context(), counted(&n))
		assert.NilError(t, err)
		assert.Equal(t, v, 1)
	})
}

func TestGroup_OneCallerCancelsOtherGetsValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		n := 0
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { _, _ = g.Do(ctx, counted(&n)) })
		v, err := g.Do(t.Context(), counted(&n))
		assert.NilError(t, err)
		assert.Equal(t, v, n)
		all.Wait()
	})
}

func TestGroup_PauseBoundsCPUShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group[int]{Pause: 3}
		n := 0
		began := time.Now()
		for range 5 {
			_, err := g.Do(t.Context(), counted(&n))
			assert.NilError(t, err)
		}
		assert.Equal(t, time.Since(began), 17*time.Second, "5 builds of 1 s and 4 pauses of 3 s")
	})
}

// After a build that has waited for half a minute callers do not wait one and a half more.
func TestGroup_PauseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group[int]{Pause: 3}
		stalls := func(context.Context) (int, error) { time.Sleep(29 * time.Second); return 1, nil }
		_, err := g.Do(t.Context(), stalls)
		assert.NilError(t, err)
		n, began := 0, time.Now()
		_, err = g.Do(t.Context(), counted(&n))
		assert.NilError(t, err)
		assert.Equal(t, time.Since(began), 6*time.Second, "a pause of 5 s and a build of 1 s")
	})
}

func TestGroup_PanicReachesCallersOnly(t *testing.T) {
	var g Group[int]
	func() {
		defer func() {
			got, _ := recover().(string)
			assert.Assert(t, strings.HasPrefix(got, "no such shape\n"), got)
		}()
		_, _ = g.Do(t.Context(), func(context.Context) (int, error) { panic("no such shape") })
		t.Fatal("the panic did not reach the caller")
	}()
	refused := errors.New("refused")
	_, err := g.Do(t.Context(), func(context.Context) (int, error) { return 0, refused })
	assert.ErrorIs(t, err, refused)
	v, err := g.Do(t.Context(), func(context.Context) (int, error) { return 7, nil })
	assert.NilError(t, err)
	assert.Equal(t, v, 7)
}

// Work that ends in its slot ends the build with an error, and not with a panic of its callers.
func TestGroup_EndedWorkIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		_, err := g.Do(t.Context(), func(ctx context.Context) (int, error) {
			slot := cpushare.New(1).Acquire(ctx)
			defer slot.Release()
			for {
				time.Sleep(time.Second)
				slot.Yield()
			}
		})
		assert.ErrorIs(t, err, cpushare.ErrTooLong)
	})
}
