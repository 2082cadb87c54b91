package cpushare

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestShare_AtMostSoManyRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots, workers = 2, 7
		s := New(slots)
		var mu sync.Mutex
		inside, most, done := 0, 0, 0
		enter := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			inside += n
			most = max(most, inside)
		}
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				turn := s.Enter()
				for range 5 {
					enter(1)
					time.Sleep(stretch / 2) // work
					enter(-1)
					turn.Yield()
				}
				turn.Leave()
				time.Sleep(time.Second) // a client
				turn.Resume()
				enter(1)
				done++
				enter(-1)
				turn.Leave()
			})
		}
		all.Wait()
		assert.Equal(t, most, slots)
		assert.Equal(t, done, workers)
		assert.Equal(t, len(s.slots), 0, "slots that were not given back")
	})
}

// A goroutine that waits gets the slot after a stretch, and not before.
func TestTurn_YieldsAfterItsStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		turn := s.Enter()
		got := false
		go func() {
			other := s.Enter()
			got = true
			other.Leave()
		}()
		synctest.Wait()
		turn.Yield()
		synctest.Wait()
		assert.Assert(t, !got, "the stretch has only begun")
		time.Sleep(stretch)
		turn.Yield()
		assert.Assert(t, got)
		turn.Leave()
	})
}

// After some stretches the slot is empty for a moment, even if another goroutine waits for it.
func TestTurn_TheSlotRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		turn := s.Enter()
		rests := 0
		for range 3 * stretches {
			time.Sleep(stretch)
			before := time.Now()
			turn.Yield()
			if time.Since(before) >= rest {
				rests++
			}
		}
		turn.Leave()
		assert.Equal(t, rests, 3)
	})
}

func TestTurn_NilDoesNothing(*testing.T) {
	var turn *Turn
	turn.Yield()
	turn.Leave()
	turn.Resume()
}

// Work that panics gives its slot back if it leaves by defer, also while it waits outside.
func TestTurn_APanicLeavesNoSlotBehind(t *testing.T) {
	s := New(1)
	func() {
		defer func() { assert.Assert(t, recover() != nil) }()
		turn := s.Enter()
		defer turn.Leave()
		turn.Leave()
		defer turn.Resume()
		panic("outside")
	}()
	assert.Equal(t, len(s.slots), 0)
}
