package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// ranked is a core with nodes of 4 vcores each and one leaf where the more important takes
// the place of the less important.
type ranked struct {
	*scheduler.Core
	now time.Time
}

func newRanked(t *testing.T, opt objects.Options, oracle scheduler.Oracle, nodes ...objects.NodeID) *ranked {
	leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
	leaf.PrioritySwap = policies.PrioritySwapLeaf
	r := &ranked{now: epoch, Core: scheduler.NewWith(configs.Partition{Name: "default", Preemption: true, Root: configs.Queue{
		Name: "root", Parent: true, Submit: security.Everyone(), Settings: configs.DefaultSettings(), Children: []configs.Queue{leaf},
	}}, oracle, opt)}
	for _, n := range nodes {
		r.Step(r.now, scheduler.AddNode{Node: n, Total: plain(map[string]int64{"vcore": 4}), Schedulable: true})
	}
	return r
}

// run reports an allocation that has been running for a minute.
func (r *ranked) run(key string, node objects.NodeID, priority int32, vcore int64) {
	r.Step(r.now.Add(-time.Minute), scheduler.AddApplication{App: objects.AppID("of-" + key), User: security.User{Name: "ann"}, Queue: "root.a"})
	r.Step(r.now.Add(-time.Minute), scheduler.ReportAllocation{Node: node, Ask: r.ask(key, priority, vcore)})
	r.Step(r.now, scheduler.Wake{})
}

func (r *ranked) ask(key string, priority int32, vcore int64) *objects.Ask {
	return &objects.Ask{
		Key: objects.AllocationKey(key), App: objects.AppID("of-" + key), Priority: priority, Created: r.now.Add(-time.Minute),
		Amounts: plain(map[string]int64{"vcore": vcore}), Policy: objects.PolicySent | objects.PolicySelf | objects.PolicyOther,
	}
}

// submit makes an ask pending, and lets the core decide.
func (r *ranked) submit(key string, priority int32, vcore int64) {
	r.Step(r.now, scheduler.AddApplication{App: objects.AppID("of-" + key), User: security.User{Name: "ann"}, Queue: "root.a"})
	r.Step(r.now, scheduler.SubmitAsk{Ask: r.ask(key, priority, vcore)})
	r.decide()
}

func (r *ranked) decide() {
	for more := true; more; {
		_, more = r.Schedule(r.now, 100)
	}
}

func (r *ranked) after(d time.Duration, cmd scheduler.Command) {
	r.now = r.now.Add(d)
	r.Step(r.now, cmd)
	r.decide()
}

func (r *ranked) release(after time.Duration, key string, how scheduler.Termination) {
	r.after(after, scheduler.Release{App: objects.AppID("of-" + key), Key: objects.AllocationKey(key), Type: how})
}

// last is the newest preemption.
func (r *ranked) last(t *testing.T) scheduler.Preemption {
	t.Helper()
	assert.NilError(t, r.Check())
	all := r.Preemptions()
	assert.Assert(t, len(all.Last) > 0, "nobody was preempted")
	got, ok := r.Preemption(all.Made)
	assert.Assert(t, ok)
	assert.DeepEqual(t, got, all.Last[0])
	return got
}

func TestWhatIsRememberedOfAPreemption(t *testing.T) {
	r := newRanked(t, objects.DefaultOptions(), nil, "n1", "n2", "n3")
	r.run("vip", "n1", 100, 4)
	r.run("old", "n2", 10, 2)
	r.run("peer", "n2", 50, 1)
	r.run("tiny", "n2", 5, 1)
	r.run("whole", "n3", 20, 4)
	r.submit("high", 50, 2)

	got := r.last(t)
	vcore := func(n int64) any { return plain(map[string]int64{"vcore": n}) }
	assert.Equal(t, got.Number, uint64(1))
	assert.Equal(t, got.At, epoch)
	assert.Equal(t, got.Right, preemption.OfPriority)
	assert.Equal(t, len(got.Vain), 0)
	assert.Equal(t, got.Node, objects.NodeID("n2"))
	assert.DeepEqual(t, got.Ask, scheduler.Claimant{
		Key: "high", App: "of-high", User: "ann", Queue: "root.a", Priority: 50,
		Amounts: plain(map[string]int64{"vcore": 2}), Created: epoch.Add(-time.Minute),
	})
	assert.Equal(t, len(got.Victims), 1)
	v := got.Victims[0]
	assert.Equal(t, v.Key, objects.AllocationKey("old"))
	assert.Equal(t, v.Node, objects.NodeID("n2"))
	assert.Equal(t, v.BoundAt, epoch.Add(-time.Minute))
	assert.Equal(t, v.Ran, time.Minute)
	assert.DeepEqual(t, v.LostWork(), vcore(120))
	assert.Equal(t, v.End, scheduler.End{})
	assert.DeepEqual(t, fates(got.Candidates), map[string]string{"old": "victim", "peer": "is too important", "tiny": "may be taken"})
	// n3 would take a more important victim, so it need not be compared; n1 is hopeless.
	assert.Equal(t, got.Seen, preemption.Seen{preemption.Compared: 1})
	assert.Equal(t, got.Nomination.State, scheduler.NominationWaits)

	r.release(10*time.Second, "old", scheduler.PreemptedByScheduler)
	got = r.last(t)
	assert.Equal(t, got.Victims[0].End, scheduler.End{How: scheduler.LeftAsTold, At: r.now, Type: scheduler.PreemptedByScheduler})
	assert.Equal(t, got.Victims[0].Ran, time.Minute)
	assert.DeepEqual(t, got.Nomination, scheduler.Nomination{State: scheduler.NominationKept, Until: r.now})
	assert.Equal(t, got.Placed, scheduler.Placed{At: r.now, Node: "n2"})
}

// fates says of everybody on a node what becomes of them.
func fates(list []scheduler.Candidate) map[string]string {
	out := map[string]string{}
	for _, y := range list {
		out[string(y.Key)] = y.Law.String()
		if y.Victim {
			out[string(y.Key)] = "victim"
		}
	}
	return out
}

// What can become of those who were told to leave, and of the ask they were told for.
func TestWhatBecomesOfAPreemption(t *testing.T) {
	type want struct {
		victim     scheduler.End
		nomination scheduler.Nomination
		placed     objects.NodeID
		dropped    bool
	}
	wait := scheduler.Nomination{}
	ended := func(s scheduler.NominationState) scheduler.Nomination {
		return scheduler.Nomination{State: s, Until: epoch.Add(time.Second)}
	}
	left := func(how scheduler.Departure, as scheduler.Termination) scheduler.End {
		return scheduler.End{How: how, At: epoch.Add(time.Second), Type: as}
	}
	for _, c := range []struct {
		name string
		then func(r *ranked)
		want want
	}{
		{"nothing yet", func(*ranked) {}, want{nomination: wait}},
		{
			"the victim ends by itself", func(r *ranked) { r.release(time.Second, "low", scheduler.StoppedByRM) },
			want{left(scheduler.LeftAsTold, scheduler.StoppedByRM), ended(scheduler.NominationKept), "n1", false},
		}, {
			"the ask is cancelled", func(r *ranked) { r.release(time.Second, "high", scheduler.StoppedByRM) },
			want{nomination: ended(scheduler.NominationCancelled), dropped: true},
		}, {
			"the application of the ask is removed",
			func(r *ranked) { r.after(time.Second, scheduler.RemoveApplication{App: "of-high"}) },
			want{nomination: ended(scheduler.NominationCancelled), dropped: true},
		}, {
			"the application of the victim is removed",
			func(r *ranked) { r.after(time.Second, scheduler.RemoveApplication{App: "of-low"}) },
			want{left(scheduler.LeftWithApplication, 0), ended(scheduler.NominationKept), "n1", false},
		}, {
			"the node is removed", func(r *ranked) { r.after(time.Second, scheduler.RemoveNode{Node: "n1"}) },
			want{victim: left(scheduler.LeftWithNode, 0), nomination: ended(scheduler.NominationLeftNode)},
		}, {
			"the node drains", func(r *ranked) { r.after(time.Second, scheduler.SetSchedulable{Node: "n1"}) },
			want{nomination: ended(scheduler.NominationLeftNode)},
		}, {
			"the victim is resized, and leaves", func(r *ranked) {
				r.after(0, scheduler.ReportAllocation{Node: "n1", Ask: r.ask("low", 0, 3)})
				r.release(time.Second, "low", scheduler.PreemptedByScheduler)
			}, want{left(scheduler.LeftAsTold, scheduler.PreemptedByScheduler), ended(scheduler.NominationKept), "n1", false},
		}, {
			"the ask is resized to what nobody has",
			func(r *ranked) { r.after(time.Second, scheduler.SubmitAsk{Ask: r.ask("high", 50, 9)}) },
			want{nomination: ended(scheduler.NominationResized)},
		}, {
			"another node comes", func(r *ranked) {
				r.after(time.Second, scheduler.AddNode{Node: "n2", Total: plain(map[string]int64{"vcore": 4}), Schedulable: true})
			}, want{nomination: ended(scheduler.NominationKept), placed: "n2"},
		}, {
			"the RM says everything again", func(r *ranked) { r.after(time.Second, scheduler.Forget{}) },
			want{victim: left(scheduler.LeftUnknown, 0), nomination: ended(scheduler.NominationUnknown)},
		}, {
			"the RM places the ask itself", func(r *ranked) {
				r.after(time.Second, scheduler.ReportAllocation{Node: "n1", Ask: r.ask("high", 50, 4)})
			}, want{nomination: ended(scheduler.NominationKept), placed: "n1"},
		}, {
			"somebody more important gets the node", func(r *ranked) {
				for _, n := range []objects.NodeID{"n2", "n3"} { // the cluster has room, but no node
					r.after(0, scheduler.AddNode{Node: n, Total: plain(map[string]int64{"vcore": 3}), Schedulable: true})
				}
				r.after(time.Second, scheduler.Wake{})
				r.submit("vip", 100, 4)
			}, want{nomination: scheduler.Nomination{State: scheduler.NominationLost, Until: epoch.Add(time.Second), To: "vip"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRanked(t, objects.DefaultOptions(), nil, "n1")
			r.run("low", "n1", 0, 4)
			r.submit("high", 50, 4)
			assert.Equal(t, r.last(t).Node, objects.NodeID("n1"))
			c.then(r)
			assert.NilError(t, r.Check())
			got, ok := r.Preemption(1)
			assert.Assert(t, ok)
			assert.Equal(t, got.Victims[0].End, c.want.victim)
			assert.DeepEqual(t, got.Nomination, c.want.nomination)
			assert.Equal(t, got.Placed.Node, c.want.placed)
			assert.Equal(t, !got.Dropped.IsZero(), c.want.dropped)
		})
	}
}

// A nomination that is given up is told with the reason, and the ask is followed until it
// is placed after all.
func TestWhyANominationWasGivenUp(t *testing.T) {
	r := newRanked(t, objects.DefaultOptions(), fickle{"high"}, "n1")
	r.run("low", "n1", 0, 4)
	r.submit("high", 50, 4)
	r.release(time.Second, "low", scheduler.PreemptedByScheduler)
	got := r.last(t)
	assert.Equal(t, got.Nomination.State, scheduler.NominationGivenUp)
	assert.Equal(t, got.Nomination.Why.String(), "the resource manager refuses node n1 after all")
	assert.Assert(t, got.Placed.At.IsZero())
	r.after(time.Second, scheduler.ReportAllocation{Node: "n1", Ask: r.ask("high", 50, 4)})
	got = r.last(t)
	assert.Equal(t, got.Nomination.State, scheduler.NominationGivenUp)
	assert.Equal(t, got.Placed, scheduler.Placed{At: r.now, Node: "n1"})
}

// The ledger has a bound, and follows nobody of what it has forgotten.
func TestTheLedgerOfVictimsIsBounded(t *testing.T) {
	const most, preemptions = 3, 8
	opt := objects.DefaultOptions()
	opt.Preemptions = most
	r := newRanked(t, opt, nil)
	for i := range preemptions {
		n := objects.NodeID(fmt.Sprint("n", i))
		r.Step(r.now, scheduler.AddNode{Node: n, Total: plain(map[string]int64{"vcore": 4}), Schedulable: true})
		r.run(fmt.Sprint("low", i), n, 0, 4)
		r.submit(fmt.Sprint("high", i), 50, 4)
		assert.Equal(t, r.last(t).Number, uint64(i+1))
	}
	all := r.Preemptions()
	assert.Equal(t, all.Made, uint64(preemptions))
	var numbers []uint64
	for _, p := range all.Last {
		numbers = append(numbers, p.Number)
	}
	assert.DeepEqual(t, numbers, []uint64{8, 7, 6})
	for _, n := range []uint64{0, 5, 9, 1 << 63} {
		_, ok := r.Preemption(n)
		assert.Assert(t, !ok, "%d", n)
	}
	for i := range preemptions { // also of those that are forgotten
		r.release(time.Second, fmt.Sprint("low", i), scheduler.PreemptedByScheduler)
		assert.NilError(t, r.Check())
	}
	for _, p := range r.Preemptions().Last {
		assert.Equal(t, p.Nomination.State, scheduler.NominationKept)
		assert.Equal(t, p.Victims[0].End.How, scheduler.LeftAsTold)
	}
}

// What was handed out does not change any more.
func TestAPreemptionIsAValue(t *testing.T) {
	r := newRanked(t, objects.DefaultOptions(), nil, "n1")
	r.run("low", "n1", 0, 4)
	r.submit("high", 50, 4)
	before := r.last(t)
	r.release(time.Second, "low", scheduler.PreemptedByScheduler)
	assert.Equal(t, before.Victims[0].End.How, scheduler.StillThere)
	assert.Equal(t, r.last(t).Victims[0].End.How, scheduler.LeftAsTold)
}

// Who leaves because a queue is above its max is remembered too, though there is no ask. Of
// very many only some are named.
func TestWhatIsRememberedOfALoweredMax(t *testing.T) {
	const most, runs = 10, 250
	s := settings{max: fmt.Sprintf("vcore: %dm", most), delay: time.Minute}
	l := newLowering(t, s)
	for i := range runs {
		l.report(objects.AllocationKey(fmt.Sprint("k", i)), vcores(1))
	}
	l.now = l.now.Add(time.Hour)
	l.schedule()
	all := l.core.Preemptions()
	assert.Equal(t, all.Made, uint64(1))
	got := all.Last[0]
	assert.Equal(t, got.Right, preemption.OfQuota)
	assert.DeepEqual(t, got.Excess, scheduler.Excess{Queue: "root.a", By: vcores(runs - most)})
	assert.Equal(t, len(got.Victims), 200)
	assert.Equal(t, got.MoreVictims, runs-most-200)
	assert.Equal(t, got.Victims[0].Ran, time.Hour)
	for _, key := range l.told {
		l.release(string(key))
	}
	for _, v := range l.core.Preemptions().Last[0].Victims {
		assert.Equal(t, v.End.How, scheduler.LeftAsTold)
	}
	assert.NilError(t, l.core.Check())
}
