package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// A placement changes only the views that it concerns (OBS-5).
func TestSnapshot_UnchangedViewsAreShared(t *testing.T) {
	c, now := loadedCore(t, treeConfig(2, 4), 8, 64)
	before := c.Snapshot(now)
	effects, _ := c.Schedule(now, 1)
	placed := effects[len(effects)-1].(Allocated)
	after := c.Snapshot(now)

	leaf := after.Root
	for leaf.Children.Len() > 0 {
		previous := before.Queue(leaf.Path)
		assert.Assert(t, previous != leaf, "%s has changed", leaf.Path)
		var next *QueueView
		same := 0
		for child := range leaf.Children.All() {
			if before.Queue(child.Path) == child {
				same++
			} else {
				next = child
			}
		}
		assert.Equal(t, same, 3, "one child of %s has changed", leaf.Path)
		leaf = next
	}
	assert.Assert(t, leaf.Application(placed.Ask.App) != nil, "%s", leaf.Path)
	same := 0
	for n := range after.Nodes.All() {
		if before.Node(n.ID) == n {
			same++
		} else {
			assert.Equal(t, n.ID, placed.Node)
		}
	}
	assert.Equal(t, same, 7)
	for w := range leaf.Application(placed.Ask.App).Allocations.All() {
		previous := before.Queue(leaf.Path).Application(placed.Ask.App).Allocations.Find(func(x *AllocationView) int {
			return compareAllocations(x, w)
		})
		assert.Equal(t, previous == w, w.Ask != placed.Ask, "%s", w.Ask.Key)
		assert.Assert(t, w.Ask != placed.Ask || after.Node(placed.Node).Allocations.At(0) == w,
			"application and node share the view")
	}
	assert.Assert(t, c.Snapshot(now).Root == after.Root, "nothing has changed")
}

// A refresh views no more objects than its budget, and refreshes between decisions end with the current
// state.
func TestRefreshSnapshot_StaysWithinItsBudget(t *testing.T) {
	c, now := loadedCore(t, treeConfig(2, 10), 50, 1000)
	const budget = 20
	left := c.RefreshSnapshot(budget)
	assert.Assert(t, left > 1000, "%d", left)
	rounds := 1
	for ; left > 0; rounds++ {
		c.Schedule(now, 1)
		views := 0
		viewedAllocations := func() (n int) {
			for _, a := range c.views.applications {
				n += a.allocations.Len()
			}
			return n
		}
		views = -viewedAllocations()
		left = c.RefreshSnapshot(budget)
		views += viewedAllocations()
		assert.Assert(t, views <= budget, "%d asks were viewed", views)
	}
	assert.Assert(t, rounds > 1000/budget, "%d", rounds)
	got, want := c.Snapshot(now), c.FullSnapshot(now)
	assert.Equal(t, got.Allocations, want.Allocations)
	assert.Assert(t, got.Allocations > 50, "%d were placed meanwhile", got.Allocations)
	assert.Equal(t, got.Nodes.Len(), want.Nodes.Len())
	for n := range want.Nodes.All() {
		assert.Equal(t, got.Node(n.ID).Allocations.Len(), n.Allocations.Len())
	}
}

// A change of one ask does not copy the list of 20,000 asks of its application.
func TestSnapshot_LargeApplicationIsNotCopied(t *testing.T) {
	c, now := loadedCore(t, treeConfig(1, 1), 100, 20_000)
	c.Schedule(now, 1)
	c.Snapshot(now)
	made := testing.AllocsPerRun(20, func() {
		c.Schedule(now, 1)
		c.Snapshot(now)
	})
	assert.Assert(t, made < 100, "%v heap allocations after one placement, of 20,000 asks", made)
	app := c.Snapshot(now).Root.Children.At(0).Applications.At(0)
	assert.Equal(t, app.Allocations.Len(), 20_000)
}

// A core without readers records no changes, and recording stops with ForgetSnapshots.
func TestForgetSnapshots_StopsRecording(t *testing.T) {
	c, now := loadedCore(t, treeConfig(1, 2), 10, 100)
	assert.Assert(t, c.views == nil)
	c.Snapshot(now)
	changes := c.views.changes
	assert.Assert(t, c.Partition().Watched(changes))
	c.Schedule(now, 5)
	assert.Assert(t, changes.Len() > 0)
	c.ForgetSnapshots()
	assert.Assert(t, c.views == nil && !c.Partition().Watched(changes))
	n := changes.Len()
	c.Schedule(now, 5)
	assert.Equal(t, changes.Len(), n)
	assert.Equal(t, c.Snapshot(now).Allocations, 10)
}

// If no reader takes the changes, and most changed objects are gone, recording ends, so that it does not
// keep them in memory.
func TestSnapshot_UnreadChangesAreBounded(t *testing.T) {
	c, now := loadedCore(t, treeConfig(1, 2), 10, 0)
	c.Snapshot(now)
	changes := c.views.changes
	maxChanges := 0
	for i := range 40_000 {
		key := objects.AllocationKey(fmt.Sprint("gone", i))
		c.Step(now, SubmitAsk{Ask: &objects.Ask{Key: key, App: "a0", Amounts: amounts(1, 1)}})
		c.Step(now, Release{App: "a0", Key: key})
		maxChanges = max(maxChanges, changes.Len())
	}
	assert.Assert(t, maxChanges < 11_000, "%d changes of objects that are gone are kept", maxChanges)
	assert.Assert(t, !c.Partition().Watched(changes))
	assert.Equal(t, c.Snapshot(now.Add(time.Hour)).Asks, 0)
}

func TestSnapshot_HeadroomIsThatOfTheTightestQueueAbove(t *testing.T) {
	c, now := loadedCore(t, treeConfig(2, 2), 2, 0)
	s := c.Snapshot(now)
	for q := range s.Root.Children.All() {
		assert.Assert(t, s.Headroom(q.Path).Equal(q.HeadroomBelow(s.Root.HeadroomBelow(s.Root.Max))))
	}
	assert.Assert(t, s.Queue("root.q0.q1") != nil && s.Queue("root.q0.q") == nil && s.Queue("other") == nil &&
		s.Queue("root") == s.Root && s.Queue("root.q0.q1.x") == nil)
	assert.Assert(t, s.Node("n00001") != nil && s.Node("n9") == nil)
}
