package twin

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// TestGoingToAnotherConfigurationAndBackLeavesNoTrace tells a story to two Cores. One of
// them goes to another configuration and back now and then, and nobody may be able to
// tell which: not by its state, and not by anything it ever decides afterwards. While a
// queue drains it stays at home: what another configuration makes of that queue is kept. So
// it does while a queue is above its max: its delay begins anew if it was allowed more.
func TestGoingToAnotherConfigurationAndBackLeavesNoTrace(t *testing.T) {
	stories, away := uint64(testscale.Runs(150)), 0
	first := number(t, "CANOPY_SIM_SEED", 1)
	for seed := first; seed < first+stories; seed++ {
		away += travel(t, Random(seed, beats))
	}
	assert.Assert(t, away > 20*int(stories), "only %d other configurations were in force", away)
}

// travel tells one story and returns how often the second Core was away.
func travel(t *testing.T, s Story) (away int) {
	t.Helper()
	oracle := s.RM.oracle()
	opt := objects.DefaultOptions()
	opt.Looks = 1 << 30 // how many look at a time is no trace
	stays, goes := scheduler.NewWith(s.Partition, oracle, opt), scheduler.NewWith(s.Partition, oracle, opt)
	guide := &author{Rand: rand.New(rand.NewPCG(s.Seed, 1)), conf: s.Partition}
	now, drains := start(), false
	for i, beat := range s.Beats {
		now = now.Add(beat.After)
		want, more := beat.act(stays, now)
		told, alsoMore := retell(want), more
		got, more := beat.act(goes, now)
		assert.Equal(t, retell(got), told, "seed %d, step %d: %s", s.Seed, i, beat)
		assert.Equal(t, more, alsoMore)
		switch beat.Command.(type) {
		case scheduler.Drain:
			drains = true // and is not in the configuration that it could go back to
		case scheduler.UseConfig:
			drains = drains && len(scheduler.WithoutNotes(want)) > 0
		}
		before := goes.Snapshot(now)
		if drains || closing(before.Root) || lowered(before.Root) || !guide.oneIn(3) {
			continue
		}
		home := goes.Partition().Config()
		guide.conf = home
		if len(scheduler.WithoutNotes(goes.Step(now, scheduler.UseConfig{Partition: guide.reload()}))) > 0 {
			continue // refused
		}
		assert.NilError(t, goes.Check(), "seed %d, step %d", s.Seed, i)
		assert.Equal(t, retell(scheduler.WithoutNotes(goes.Step(now, scheduler.UseConfig{Partition: home}))), "", "seed %d, step %d", s.Seed, i)
		assert.NilError(t, goes.Check(), "seed %d, step %d", s.Seed, i)
		if SnapshotDifference(goes.Snapshot(now), before) != "" {
			t.Fatalf("seed %d: the way back from step %d, %s, leads somewhere else:\n%+v\n%+v",
				s.Seed, i, beat, goes.Snapshot(now).Root, before.Root)
		}
		away++
	}
	assert.Equal(t, SnapshotDifference(goes.Snapshot(now), stays.Snapshot(now)), "", "seed %d: at the end", s.Seed)
	return away
}

// closing reports whether q, or a queue below it, drains.
func closing(q *scheduler.QueueView) bool {
	for child := range q.Children.All() {
		if closing(child) {
			return true
		}
	}
	return q.Draining
}

// lowered reports whether q, or a queue below it, is above a max that is enforced.
func lowered(q *scheduler.QueueView) bool {
	for child := range q.Children.All() {
		if lowered(child) {
			return true
		}
	}
	return q.AboveMax != nil
}
