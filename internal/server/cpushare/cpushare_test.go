package cpushare

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestShare_BoundsConcurrentSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots, workers = 2, 7
		s := New(slots)
		var mu sync.Mutex
		running, most, done := 0, 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				slot := s.Acquire(t.Context())
				for range 5 {
					count(1)
					time.Sleep(timeSlice / 2) // work
					count(-1)
					slot.Yield()
				}
				slot.Release()
				time.Sleep(time.Second) // a wait for a client
				slot.Reacquire()
				count(1)
				done++
				count(-1)
				slot.Release()
			})
		}
		all.Wait()
		assert.Equal(t, most, slots)
		assert.Equal(t, done, workers)
		assert.Equal(t, len(s.slots), 0, "slots were not released")
	})
}

// A goroutine that waits gets the slot after a time slice, and not before.
func TestSlot_YieldsAfterItsTimeSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		slot := s.Acquire(t.Context())
		got := false
		go func() {
			other := s.Acquire(t.Context())
			got = true
			other.Release()
		}()
		synctest.Wait()
		slot.Yield()
		synctest.Wait()
		assert.Assert(t, !got, "the time slice has only begun")
		time.Sleep(timeSlice)
		slot.Yield()
		assert.Assert(t, got)
		slot.Release()
	})
}

// After some time slices the slot is free for a moment, even if another goroutine waits for it.
func TestSlot_PausesAfterSomeTimeSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		slot := s.Acquire(t.Context())
		pauses := 0
		for range 3 * slicesPerPause {
			time.Sleep(timeSlice)
			before := time.Now()
			slot.Yield()
			if time.Since(before) >= pause {
				pauses++
			}
		}
		slot.Release()
		assert.Equal(t, pauses, 3)
	})
}

func TestSlot_NilDoesNothing(*testing.T) {
	var slot *Slot
	slot.Yield()
	slot.Release()
	slot.Reacquire()
}

// Work that panics releases its slot by defer, also during a pause.
func TestSlot_IsReleasedOnPanic(t *testing.T) {
	s := New(1)
	func() {
		defer func() { assert.Assert(t, recover() != nil) }()
		slot := s.Acquire(t.Context())
		defer slot.Release()
		slot.Release()
		defer slot.Reacquire()
		panic("outside")
	}()
	assert.Equal(t, len(s.slots), 0)
}

// ended returns the error with which Yield ends work; nil: it goes on.
func ended(slot *Slot) (err error) {
	defer func() {
		if p, ok := recover().(*Ended); ok {
			err = p
		}
	}()
	slot.Yield()
	return nil
}

func TestSlot_WorkEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		ctx, cancel := context.WithCancel(t.Context())
		slot := s.Acquire(ctx)
		time.Sleep(timeSlice)
		assert.NilError(t, ended(slot))
		cancel()
		time.Sleep(timeSlice)
		assert.ErrorIs(t, ended(slot), context.Canceled)
		slot.Release()
		assert.Equal(t, len(s.slots), 0, "the work that ended has the slot until it releases it")
	})
}

func TestSlot_WorkEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		slot := s.Acquire(t.Context())
		defer slot.Release()
		slot.Release()
		time.Sleep(2 * MaxWork) // a wait for a client does not count
		slot.Reacquire()
		for range 20 {
			time.Sleep(MaxWork / 20)
			assert.NilError(t, ended(slot))
		}
		time.Sleep(timeSlice)
		assert.ErrorIs(t, ended(slot), ErrTooLong)
	})
}

func TestSlot_WorkWithoutAnEndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := New(1).Acquire(context.Background())
		defer slot.Release()
		for range 3 {
			time.Sleep(MaxWork)
			assert.NilError(t, ended(slot))
		}
	})
}
