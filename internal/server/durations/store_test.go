package durations

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// learner is a Store with a clock and effects of one partition.
type learner struct {
	*Store
	at time.Time
}

func newLearner(tag string) *learner {
	l := &learner{at: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	l.Store = New(tag, func() time.Time { return l.at })
	l.OnEffects("p", nil)
	return l
}

func (l *learner) say(effects ...scheduler.Effect) { l.OnEffects("p", effects) }

func (l *learner) accept(app objects.AppID, leaf objects.QueuePath, tags map[string]string) {
	l.say(scheduler.ApplicationAccepted{App: app, Queue: leaf, Tags: tags})
}

func (l *learner) allocate(ask objects.Ask) {
	l.say(scheduler.Allocated{Binding: &scheduler.Binding{Ask: &ask, Node: "n"}})
}

// run has an allocation run for some seconds and end so.
func (l *learner) run(app objects.AppID, seconds int, how scheduler.Termination) {
	l.allocate(objects.Ask{Key: "k", App: app})
	l.at = l.at.Add(time.Duration(seconds) * time.Second)
	l.say(scheduler.Released{Key: "k", App: app, Type: how})
}

// known returns the durations of a group, in seconds.
func (l *learner) known(key Key) (seconds []int) {
	for _, x := range l.Known("p", key).Ended {
		seconds = append(seconds, int(x.Duration/time.Second))
	}
	return seconds
}

func TestStore_LearnsByQueueAndTag(t *testing.T) {
	l := newLearner("team")
	l.accept("a", "root.x.one", map[string]string{"team": "red", "other": "1"})
	l.accept("b", "root.x.two", nil)
	l.run("a", 5, scheduler.StoppedByRM)
	l.run("b", 7, scheduler.Unspecified)
	assert.DeepEqual(t, l.known(Key{"root.x.one", "red"}), []int{5})
	assert.DeepEqual(t, l.known(Key{Queue: "root.x.one"}), []int{5})
	assert.DeepEqual(t, l.known(Key{Queue: "root.x"}), []int{5, 7})
	assert.DeepEqual(t, l.known(Key{Queue: "root"}), []int{5, 7})
	assert.Equal(t, len(l.Known("other", Key{Queue: "root"}).Ended), 0)
	assert.DeepEqual(t, Chain("root", ""), []Key{{Queue: "root"}})
}

// What the scheduler has ended, what was lost with its node, placeholders and what may have run before a reset are not
// learnt.
func TestStore_LearnsOnlyWholeDurations(t *testing.T) {
	l := newLearner("")
	l.accept("a", "root.x", nil)
	for _, how := range []scheduler.Termination{scheduler.PreemptedByScheduler, scheduler.TimedOut,
		scheduler.PlaceholderReplaced} {
		l.run("a", 1, how)
	}
	l.say(scheduler.Released{Key: "k", App: "a"}) // it has ended before
	l.run("unknown", 1, scheduler.StoppedByRM)
	stop := scheduler.Released{Key: "k", App: "a", Type: scheduler.StoppedByRM}
	l.allocate(objects.Ask{Key: "k", App: "a", Placeholder: true})
	l.say(stop)
	l.allocate(objects.Ask{Key: "k", App: "a", Created: objects.TimestampOf(l.at.Add(-time.Hour))})
	l.say(stop)
	l.allocate(objects.Ask{Key: "k", App: "a"})
	l.say(scheduler.NodeChanged{Node: "n", Change: scheduler.NodeRemoved}, stop)
	assert.Equal(t, len(l.known(Key{Queue: "root"})), 0)

	l.say(scheduler.NodeAccepted{Node: "n"})
	l.run("a", 3, scheduler.StoppedByRM)
	l.allocate(objects.Ask{Key: "k", App: "a"})
	l.say(scheduler.PartitionReset{})
	l.say(stop)
	assert.DeepEqual(t, l.known(Key{Queue: "root"}), []int{3})
	assert.Equal(t, l.Reset("p"), l.at)
}

// What an application starts after an operator has moved it counts for the leaf in which it is then (OPS-9).
func TestStore_FollowsMovedApplications(t *testing.T) {
	l := newLearner("team")
	l.accept("a", "root.x", map[string]string{"team": "red"})
	l.say(scheduler.OperatorActed{Action: scheduler.HoldApplication, App: "a"},
		scheduler.OperatorActed{Action: scheduler.MoveApplication, App: "other", Queue: "root.y"})
	l.run("a", 3, scheduler.StoppedByRM)
	l.allocate(objects.Ask{Key: "before", App: "a"})
	l.say(scheduler.OperatorActed{Action: scheduler.MoveApplication, App: "a", From: "root.x", Queue: "root.y"})
	l.run("a", 5, scheduler.StoppedByRM)
	l.say(scheduler.Released{Key: "before", App: "a", Type: scheduler.StoppedByRM})
	assert.DeepEqual(t, l.known(Key{"root.x", "red"}), []int{3, 5})
	assert.DeepEqual(t, l.known(Key{"root.y", "red"}), []int{5})
	l.run("other", 1, scheduler.StoppedByRM)
	assert.DeepEqual(t, l.known(Key{Queue: "root"}), []int{3, 5, 5})
}

func TestStore_ForgetsApplicationsThatHaveEnded(t *testing.T) {
	l := newLearner("")
	for i := range 100 {
		app := objects.AppID(fmt.Sprint(i))
		l.accept(app, "root.x", nil)
		l.allocate(objects.Ask{Key: "k", App: app})
		l.say(scheduler.ApplicationUpdated{App: app, State: []lifecycle.State{lifecycle.Completed, lifecycle.Failed}[i%2]})
		l.say(scheduler.Released{Key: "k", App: app})
		l.accept(app, "root.y", nil)
		l.say(scheduler.ApplicationUpdated{App: app, State: lifecycle.Expired}) // the former one
		l.run(app, i, scheduler.StoppedByRM)
		l.say(scheduler.ApplicationUpdated{App: app, State: lifecycle.Completed})
	}
	assert.Equal(t, len(l.known(Key{Queue: "root.y"})), 100)
	p := l.partitions["p"]
	assert.Equal(t, len(p.chains)+len(p.starts), 0)
}

func TestStore_IsBounded(t *testing.T) {
	l := newLearner("")
	l.accept("a", "root.first", nil)
	for i := range Kept + 10 {
		l.run("a", i, scheduler.StoppedByRM)
	}
	got := l.known(Key{Queue: "root.first"})
	assert.Equal(t, len(got), Kept)
	assert.Assert(t, slices.IsSorted(got) && got[0] == 10, "%v", got[0])
	known := l.Known("p", Key{Queue: "root.first"})
	assert.Equal(t, known.Since, known.Ended[0].At, "earlier ends are not kept")
	for i := range MaxGroups {
		l.accept("b", objects.QueuePath(fmt.Sprintf("root.b%04d", i)), nil)
		l.run("b", 1, scheduler.StoppedByRM)
	}
	p := l.partitions["p"]
	assert.Equal(t, len(p.groups), MaxGroups)
	assert.Equal(t, len(l.known(Key{Queue: "root.first"})), 0, "the stalest group is forgotten first")
	assert.Equal(t, len(l.known(Key{Queue: "root"})), Kept)
	assert.Equal(t, len(l.known(Key{Queue: "root.b0000"})), 0)
	assert.Equal(t, len(l.known(Key{Queue: "root.b0002"})), 1)

	again := Key{Queue: "root.b0000"}
	assert.Equal(t, l.Known("p", Key{Queue: "root.b0002"}).Since, p.since, "nothing was forgotten when it was learnt")
	l.accept("b", again.Queue, nil)
	l.run("b", 1, scheduler.StoppedByRM)
	assert.Equal(t, l.Known("p", again).Since, l.at, "ends before were forgotten")
	assert.Equal(t, len(p.groups), MaxGroups)
	assert.Equal(t, p.byEnd.Len(), MaxGroups)
}

// Of three times as many groups as are kept, the last ones are known.
func TestStore_ForgetsTheGroupThatEndedFirst(t *testing.T) {
	l := newLearner("")
	for i := range 3 * MaxGroups {
		l.accept(objects.AppID(fmt.Sprint(i)), objects.QueuePath(fmt.Sprintf("root.b%04d", i)), nil)
		l.run(objects.AppID(fmt.Sprint(i)), 1, scheduler.StoppedByRM)
		p := l.partitions["p"]
		assert.Equal(t, p.byEnd.Len(), len(p.groups))
		assert.Equal(t, p.byEnd.Back().Value.(Key), Key{Queue: "root"}, "root ended last")
	}
	first := l.partitions["p"].byEnd.Front().Value.(Key)
	assert.Equal(t, first.Queue, objects.QueuePath(fmt.Sprintf("root.b%04d", 2*MaxGroups+1)),
		"the group with the earliest last end")
}

func TestEstimator_UsesTheSmallestGroupWithEnough(t *testing.T) {
	l := newLearner("team")
	l.accept("a", "root.x.one", map[string]string{"team": "red"})
	l.accept("b", "root.x.two", nil)
	estimate := func(value string) *Estimate { return l.Estimator("p", l.at, nil).Of("root.x.one", value) }
	assert.Assert(t, estimate("red") == nil)
	for range MinEnded {
		l.run("b", 60, scheduler.StoppedByRM)
	}
	assert.DeepEqual(t, estimate("red").Key, Key{Queue: "root.x"})
	for range MinEnded - 1 {
		l.run("a", 5, scheduler.StoppedByRM)
	}
	assert.DeepEqual(t, estimate("red").Key, Key{Queue: "root.x"})
	l.run("a", 5, scheduler.StoppedByRM)
	assert.DeepEqual(t, estimate("red").Key, Key{"root.x.one", "red"})
	assert.DeepEqual(t, estimate("blue").Key, Key{Queue: "root.x.one"})
	assert.Equal(t, estimate("red").Ended, MinEnded)
	assert.Equal(t, estimate("red").Quantile(0.5), 5*time.Second)
}

// Allocations that still run lengthen the estimate, unless they may have run before the last reset.
func TestEstimator_CountsWhatStillRuns(t *testing.T) {
	l := newLearner("")
	l.accept("a", "root.x", nil)
	for range MinEnded {
		l.run("a", 5, scheduler.StoppedByRM)
	}
	running := slices.Repeat([]Running{{Leaf: "root.x", BoundAt: l.at}}, 90)
	l.at = l.at.Add(time.Hour)
	median := func(running []Running) time.Duration {
		return l.Estimator("p", l.at, running).Of("root.x", "").Quantile(0.5)
	}
	assert.Equal(t, median(nil), 5*time.Second)
	assert.Assert(t, median(running) > time.Hour, "%v", median(running))
	l.say(scheduler.PartitionReset{})
	assert.Equal(t, median(running), 5*time.Second)
}

// The same in turn in 10,000 leaves, of which MaxGroups are kept.
func BenchmarkStore_ManyLeaves(b *testing.B) {
	l := newLearner("")
	const leaves = 10_000
	var effects [leaves][]scheduler.Effect
	for i := range leaves {
		app := objects.AppID(fmt.Sprint("a", i))
		l.accept(app, objects.QueuePath(fmt.Sprintf("root.%02d.%d", i%100, i)), nil)
		ask := objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", i)), App: app}
		effects[i] = []scheduler.Effect{
			scheduler.Allocated{Binding: &scheduler.Binding{Ask: &ask, Node: "node-0001"}},
			scheduler.Released{Key: ask.Key, App: app, Type: scheduler.StoppedByRM},
		}
		l.say(effects[i]...)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.at = l.at.Add(time.Millisecond)
		l.say(effects[i%leaves]...)
	}
}

// What a placement and a release cost the goroutine that delivers effects.
func BenchmarkStore_PlacementAndRelease(b *testing.B) {
	l := newLearner("team")
	l.accept("a", "root.x.one.two", map[string]string{"team": "red"})
	ask := objects.Ask{Key: "spark-0001-exec-17", App: "a"}
	effects := []scheduler.Effect{
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: &ask, Node: "node-0001"}},
		scheduler.Released{Key: ask.Key, App: "a", Type: scheduler.StoppedByRM},
	}
	b.ReportAllocs()
	for b.Loop() {
		l.say(effects...)
	}
}
