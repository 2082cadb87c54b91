package refusals

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

var start = time.Unix(1_700_000_000, 0).UTC()

func TestTracker_BackOffGrowsUpToTheLongestAndIsForgottenAfterIt(t *testing.T) {
	s := Settings{Backoff: 10 * time.Second, MaxBackoff: 35 * time.Second, Asks: 5}
	var tracker Tracker
	now, ask := start, Ask{"app", "k"}
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 35 * time.Second, 35 * time.Second} {
		began, ended := tracker.Refuse(s, ask, "shape", "n", now)
		assert.Equal(t, len(began), 1)
		assert.Equal(t, len(ended), 0)
		assert.Equal(t, began[0].Until.Sub(now), want)
		again, _ := tracker.Refuse(s, ask, "shape", "n", now.Add(want/2))
		assert.Equal(t, len(again), 0, "a binding that was under way prolongs nothing")
		assert.Equal(t, len(tracker.Expire(now.Add(want-1))), 0)
		now = now.Add(want)
		assert.Equal(t, len(tracker.Expire(now)), 1)
	}
	assert.Equal(t, len(tracker.Expire(now.Add(s.MaxBackoff))), 0)
	assert.Assert(t, tracker.Empty())
	assert.Assert(t, len(tracker.byAsk)+len(tracker.byNode) == 0)
	began, _ := tracker.Refuse(s, ask, "shape", "n", now.Add(s.MaxBackoff))
	assert.Equal(t, began[0].Count, 1, "what is forgotten begins anew")
}

func TestTracker_AShapeIsKeptAwayAfterSeveralDifferentAsks(t *testing.T) {
	s := Settings{Backoff: time.Second, MaxBackoff: time.Minute, Asks: 3}
	var tracker Tracker
	shapes := func(ask Ask, shape, node string, at time.Duration) (n int) {
		tracker.Expire(start.Add(at))
		began, _ := tracker.Refuse(s, ask, shape, node, start.Add(at))
		for _, r := range began {
			if r.OfShape {
				n++
			}
		}
		return n
	}
	assert.Equal(t, shapes(Ask{"a", "1"}, "s", "n", 0), 0)
	assert.Equal(t, shapes(Ask{"a", "1"}, "s", "n", 2*time.Second), 0, "the same ask counts once")
	assert.Equal(t, shapes(Ask{"b", "1"}, "s", "n", 3*time.Second), 0, "a key of another application is another ask")
	assert.Equal(t, shapes(Ask{"a", "2"}, "other", "n", 3*time.Second), 0)
	assert.Equal(t, shapes(Ask{"a", "2"}, "s", "m", 3*time.Second), 0)
	assert.Equal(t, shapes(Ask{"a", "3"}, "s", "n", 4*time.Second), 1)
}

func TestTracker_AChangeOfTheNodeEndsItsRefusals(t *testing.T) {
	s := Settings{Backoff: time.Second, MaxBackoff: time.Minute, Asks: 1}
	var tracker Tracker
	tracker.Refuse(s, Ask{"a", "1"}, "s", "n", start)
	tracker.Refuse(s, Ask{"a", "1"}, "s", "m", start)
	assert.Equal(t, len(tracker.NodeChanged("n")), 2, "that of the ask and that of its shape")
	for r := range tracker.OfAsk(Ask{"a", "1"}) {
		assert.Equal(t, r.Node, "m")
	}
	began, _ := tracker.Refuse(s, Ask{"a", "1"}, "s", "n", start)
	assert.Equal(t, began[0].Count, 1)
}

// A resource manager cannot make the memory grow without end, and none of what is dropped stays in an index.
func TestTracker_IsBounded(t *testing.T) {
	s := Settings{Backoff: time.Hour, MaxBackoff: time.Hour, Asks: 1000}
	var tracker Tracker
	ended := 0
	for i := range maxRefusals + 100 {
		_, dropped := tracker.Refuse(s, Ask{"a", fmt.Sprint(i)}, fmt.Sprint(i), "n"+fmt.Sprint(i%7),
			start.Add(time.Duration(i)))
		ended += len(dropped)
	}
	assert.Equal(t, ended, 100, "the oldest end")
	assert.Equal(t, len(tracker.due), maxRefusals)
	assert.Equal(t, len(tracker.byAsk), maxRefusals)
	_, known := tracker.byAsk[Ask{"a", "99"}]
	assert.Assert(t, !known)
}

func TestTracker_EndsComeInOrderOfTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var tracker Tracker
	now, last := start, start
	for range 2000 {
		now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		for _, e := range tracker.Expire(now) {
			assert.Assert(t, !e.Until.Before(last) && !e.Until.After(now) && !e.Active)
			last = e.Until
		}
		if at, ok := tracker.Next(); ok {
			assert.Assert(t, at.After(now))
		}
		s := Settings{Backoff: time.Duration(1+r.IntN(9)) * time.Second, MaxBackoff: 20 * time.Second, Asks: 1 + r.IntN(3)}
		node := fmt.Sprint("n", r.IntN(4))
		if r.IntN(9) == 0 {
			tracker.NodeChanged(node)
		}
		tracker.Refuse(s, Ask{"a", fmt.Sprint(r.IntN(9))}, fmt.Sprint(r.IntN(2)), node, now)
	}
}
