package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// preemptCore is a core with nodes of 4 vcores each and one leaf with preemption by priority.
type preemptCore struct {
	*scheduler.Core
	now time.Time
}

func newPreemptCore(t *testing.T, opt objects.Options, oracle *objects.Oracle, nodes ...objects.NodeID) *preemptCore {
	leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
	leaf.PriorityPreemption = policies.PriorityPreemptionLeaf
	r := &preemptCore{now: epoch,
		Core: scheduler.NewWith(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
			Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
			Children: []configs.Queue{leaf},
		}}, oracle, opt)}
	for _, n := range nodes {
		r.Step(r.now, scheduler.AddNode{Node: n, Total: amountsFromMap(map[string]int64{"vcore": 4}), Schedulable: true})
	}
	return r
}

// runAllocation reports an allocation that has been running for a minute.
func (r *preemptCore) runAllocation(key string, node objects.NodeID, priority int32, vcore int64) {
	r.Step(r.now.Add(-time.Minute),
		scheduler.AddApplication{App: objects.AppID("of-" + key), User: security.User{Name: "ann"}, Queue: "root.a"})
	r.Step(r.now.Add(-time.Minute), scheduler.ReportAllocation{Node: node, Ask: r.ask(key, priority, vcore)})
	r.Step(r.now, scheduler.Wake{})
}

func (r *preemptCore) ask(key string, priority int32, vcore int64) *objects.Ask {
	return &objects.Ask{
		Key: objects.AllocationKey(key), App: objects.AppID("of-" + key), Priority: priority,
		Created: objects.TimestampOf(r.now.Add(-time.Minute)),
		Amounts: amountsFromMap(map[string]int64{"vcore": vcore}),
		Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
	}
}

// submit makes an ask pending, and schedules.
func (r *preemptCore) submit(key string, priority int32, vcore int64) {
	r.Step(r.now,
		scheduler.AddApplication{App: objects.AppID("of-" + key), User: security.User{Name: "ann"}, Queue: "root.a"})
	r.Step(r.now, scheduler.SubmitAsk{Ask: r.ask(key, priority, vcore)})
	r.scheduleAll()
}

func (r *preemptCore) scheduleAll() {
	for more := true; more; {
		_, more = r.Schedule(r.now, 100)
	}
}

func (r *preemptCore) advance(d time.Duration, cmd scheduler.Command) {
	r.now = r.now.Add(d)
	r.Step(r.now, cmd)
	r.scheduleAll()
}

func (r *preemptCore) release(after time.Duration, key string, how scheduler.Termination) {
	r.advance(after, scheduler.Release{App: objects.AppID("of-" + key), Key: objects.AllocationKey(key), Type: how})
}

// last is the newest preemption.
func (r *preemptCore) last(t *testing.T) preemption.Preemption {
	t.Helper()
	assert.NilError(t, r.Check())
	all := r.Preemptions()
	assert.Assert(t, len(all.Last) > 0, "there was no preemption")
	got, ok := r.Preemption(all.Total)
	assert.Assert(t, ok)
	assert.DeepEqual(t, got, all.Last[0])
	return got
}

func TestPreemptionLog_RecordOfAPreemption(t *testing.T) {
	r := newPreemptCore(t, objects.DefaultOptions(), nil, "n1", "n2", "n3")
	r.runAllocation("vip", "n1", 100, 4)
	r.runAllocation("old", "n2", 10, 2)
	r.runAllocation("peer", "n2", 50, 1)
	r.runAllocation("tiny", "n2", 5, 1)
	r.runAllocation("whole", "n3", 20, 4)
	r.submit("high", 50, 2)

	got := r.last(t)
	vcore := func(n int64) any { return amountsFromMap(map[string]int64{"vcore": n}) }
	assert.Equal(t, got.Number, uint64(1))
	assert.Equal(t, got.At.Time(), epoch)
	assert.Equal(t, got.Reason, victim.ReasonPriority)
	assert.Equal(t, len(got.TriedReasons), 0)
	assert.Equal(t, got.Node, objects.NodeID("n2"))
	assert.DeepEqual(t, got.Ask, &preemption.Preemptor{
		Key: "high", App: "of-high", User: "ann", Queue: "root.a", Priority: 50,
		Amounts: amountsFromMap(map[string]int64{"vcore": 2}), Created: objects.TimestampOf(epoch.Add(-time.Minute)),
	})
	assert.Equal(t, len(got.Victims), 1)
	v := got.Victims[0]
	assert.Equal(t, v.Key, objects.AllocationKey("old"))
	assert.Equal(t, v.Node, objects.NodeID("n2"))
	assert.Equal(t, v.BoundAt.Time(), epoch.Add(-time.Minute))
	assert.Equal(t, v.RuntimeSeconds, int64(60))
	assert.DeepEqual(t, v.LostWork, vcore(120))
	assert.Equal(t, v.VictimEnd, preemption.VictimEnd{})
	assert.DeepEqual(t, candidateReasons(got.Candidates),
		map[string]string{"old": "victim", "peer": "has too high a priority", "tiny": "eligible"})
	// n3 would have a victim of higher priority, so it is not compared; n1 is infeasible.
	assert.DeepEqual(t, got.NodeOutcomes, &victim.NodeOutcomes{Compared: 1})
	assert.Equal(t, got.Nomination.State, preemption.NominationWaiting)

	r.release(10*time.Second, "old", scheduler.PreemptedByScheduler)
	got = r.last(t)
	assert.Equal(t, got.Victims[0].VictimEnd,
		preemption.VictimEnd{State: preemption.VictimReleased, EndedAt: objects.TimestampOf(r.now),
			Termination: scheduler.PreemptedByScheduler.String()})
	assert.Equal(t, got.Victims[0].RuntimeSeconds, int64(60))
	assert.DeepEqual(t, got.Nomination,
		&preemption.Nomination{State: preemption.NominationPlaced, EndedAt: objects.TimestampOf(r.now)})
	assert.DeepEqual(t, got.Placed, &preemption.Placed{At: objects.TimestampOf(r.now), Node: "n2", AfterSeconds: 10})
}

// candidateReasons is, for each candidate, victim or why it is not.
func candidateReasons(list []preemption.Candidate) map[string]string {
	out := map[string]string{}
	for _, y := range list {
		out[string(y.Key)] = strings.TrimSuffix(y.Reason, ", but not needed")
	}
	return out
}

// The ends of victims and nominations.
func TestPreemptionLog_Outcomes(t *testing.T) {
	type want struct {
		victim     preemption.VictimEnd
		nomination preemption.Nomination
		placed     objects.NodeID
		dropped    bool
	}
	waiting := preemption.Nomination{}
	ended := func(s preemption.NominationState) preemption.Nomination {
		return preemption.Nomination{State: s, EndedAt: objects.TimestampOf(epoch.Add(time.Second))}
	}
	victimEnd := func(how preemption.VictimState, as scheduler.Termination) preemption.VictimEnd {
		end := preemption.VictimEnd{State: how, EndedAt: objects.TimestampOf(epoch.Add(time.Second))}
		if how == preemption.VictimReleased {
			end.Termination = as.String()
		}
		return end
	}
	for _, c := range []struct {
		name string
		then func(r *preemptCore)
		want want
	}{
		{"nothing yet", func(*preemptCore) {}, want{nomination: waiting}},
		{
			"the victim ends by itself", func(r *preemptCore) { r.release(time.Second, "low", scheduler.StoppedByRM) },
			want{victimEnd(preemption.VictimReleased, scheduler.StoppedByRM), ended(preemption.NominationPlaced), "n1", false},
		}, {
			"the ask is cancelled", func(r *preemptCore) { r.release(time.Second, "high", scheduler.StoppedByRM) },
			want{nomination: ended(preemption.NominationCancelled), dropped: true},
		}, {
			"the application of the ask is removed",
			func(r *preemptCore) { r.advance(time.Second, scheduler.RemoveApplication{App: "of-high"}) },
			want{nomination: ended(preemption.NominationCancelled), dropped: true},
		}, {
			"the application of the victim is removed",
			func(r *preemptCore) { r.advance(time.Second, scheduler.RemoveApplication{App: "of-low"}) },
			want{victimEnd(preemption.VictimApplicationRemoved, 0), ended(preemption.NominationPlaced), "n1", false},
		}, {
			"the node is removed", func(r *preemptCore) { r.advance(time.Second, scheduler.RemoveNode{Node: "n1"}) },
			want{victim: victimEnd(preemption.VictimNodeRemoved, 0), nomination: ended(preemption.NominationNodeLost)},
		}, {
			"the node is drained", func(r *preemptCore) { r.advance(time.Second, scheduler.SetSchedulable{Node: "n1"}) },
			want{nomination: ended(preemption.NominationNodeLost)},
		}, {
			"the victim is resized, and ends", func(r *preemptCore) {
				r.advance(0, scheduler.ReportAllocation{Node: "n1", Ask: r.ask("low", 0, 3)})
				r.release(time.Second, "low", scheduler.PreemptedByScheduler)
			},
			want{victimEnd(preemption.VictimReleased, scheduler.PreemptedByScheduler), ended(preemption.NominationPlaced), "n1",
				false},
		}, {
			"the ask is resized beyond every node",
			func(r *preemptCore) { r.advance(time.Second, scheduler.SubmitAsk{Ask: r.ask("high", 50, 9)}) },
			want{nomination: ended(preemption.NominationResized)},
		}, {
			"another node is registered", func(r *preemptCore) {
				r.advance(time.Second,
					scheduler.AddNode{Node: "n2", Total: amountsFromMap(map[string]int64{"vcore": 4}), Schedulable: true})
			}, want{nomination: ended(preemption.NominationPlaced), placed: "n2"},
		}, {
			"the RM registers anew", func(r *preemptCore) { r.advance(time.Second, scheduler.ResetPartition{}) },
			want{victim: victimEnd(preemption.VictimUnknown, 0), nomination: ended(preemption.NominationUnknown)},
		}, {
			"the RM reports the ask as allocated", func(r *preemptCore) {
				r.advance(time.Second, scheduler.ReportAllocation{Node: "n1", Ask: r.ask("high", 50, 4)})
			}, want{nomination: ended(preemption.NominationPlaced), placed: "n1"},
		}, {
			"an ask of higher priority gets the node", func(r *preemptCore) {
				for _, n := range []objects.NodeID{"n2", "n3"} { // more headroom in the cluster, and no feasible node
					r.advance(0, scheduler.AddNode{Node: n, Total: amountsFromMap(map[string]int64{"vcore": 3}), Schedulable: true})
				}
				r.advance(time.Second, scheduler.Wake{})
				r.submit("vip", 100, 4)
			},
			want{nomination: preemption.Nomination{State: preemption.NominationLost,
				EndedAt: objects.TimestampOf(epoch.Add(time.Second)), LostTo: "vip"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newPreemptCore(t, objects.DefaultOptions(), nil, "n1")
			r.runAllocation("low", "n1", 0, 4)
			r.submit("high", 50, 4)
			assert.Equal(t, r.last(t).Node, objects.NodeID("n1"))
			c.then(r)
			assert.NilError(t, r.Check())
			got, ok := r.Preemption(1)
			assert.Assert(t, ok)
			assert.Equal(t, got.Victims[0].VictimEnd, c.want.victim)
			assert.DeepEqual(t, got.Nomination, &c.want.nomination)
			placed := objects.NodeID("")
			if got.Placed != nil {
				placed = got.Placed.Node
			}
			assert.Equal(t, placed, c.want.placed)
			assert.Equal(t, !got.CancelledAt.IsZero(), c.want.dropped)
		})
	}
}

// A nomination that was given up has its verdict, and the ask is tracked until it is placed.
func TestPreemptionLog_VerdictOfANominationGivenUp(t *testing.T) {
	r := newPreemptCore(t, objects.DefaultOptions(), acceptsOnlyBeforeRelease{"high"}.oracle(), "n1")
	r.runAllocation("low", "n1", 0, 4)
	r.submit("high", 50, 4)
	r.release(time.Second, "low", scheduler.PreemptedByScheduler)
	got := r.last(t)
	assert.Equal(t, got.Nomination.State, preemption.NominationGivenUp)
	assert.Equal(t, got.Nomination.Verdict, "the resource manager rejects nominated node n1")
	assert.Assert(t, got.Placed == nil)
	r.advance(time.Second, scheduler.ReportAllocation{Node: "n1", Ask: r.ask("high", 50, 4)})
	got = r.last(t)
	assert.Equal(t, got.Nomination.State, preemption.NominationGivenUp)
	assert.DeepEqual(t, got.Placed, &preemption.Placed{At: objects.TimestampOf(r.now), Node: "n1", AfterSeconds: 2})
}

// The log is bounded, and does not track dropped preemptions.
func TestPreemptionLog_IsBounded(t *testing.T) {
	const maxEntries, preemptions = 3, 8
	opt := objects.DefaultOptions()
	opt.PreemptionHistory = maxEntries
	r := newPreemptCore(t, opt, nil)
	for i := range preemptions {
		n := objects.NodeID(fmt.Sprint("n", i))
		r.Step(r.now, scheduler.AddNode{Node: n, Total: amountsFromMap(map[string]int64{"vcore": 4}), Schedulable: true})
		r.runAllocation(fmt.Sprint("low", i), n, 0, 4)
		r.submit(fmt.Sprint("high", i), 50, 4)
		assert.Equal(t, r.last(t).Number, uint64(i+1))
	}
	all := r.Preemptions()
	assert.Equal(t, all.Total, uint64(preemptions))
	var numbers []uint64
	for _, p := range all.Last {
		numbers = append(numbers, p.Number)
	}
	assert.DeepEqual(t, numbers, []uint64{8, 7, 6})
	for _, n := range []uint64{0, 5, 9, 1 << 63} {
		_, ok := r.Preemption(n)
		assert.Assert(t, !ok, "%d", n)
	}
	for i := range preemptions { // also of dropped preemptions
		r.release(time.Second, fmt.Sprint("low", i), scheduler.PreemptedByScheduler)
		assert.NilError(t, r.Check())
	}
	for _, p := range r.Preemptions().Last {
		assert.Equal(t, p.Nomination.State, preemption.NominationPlaced)
		assert.Equal(t, p.Victims[0].State, preemption.VictimReleased)
	}
}

// Records that were returned do not change later.
func TestPreemptionLog_RecordsAreValues(t *testing.T) {
	r := newPreemptCore(t, objects.DefaultOptions(), nil, "n1")
	r.runAllocation("low", "n1", 0, 4)
	r.submit("high", 50, 4)
	before := r.last(t)
	r.release(time.Second, "low", scheduler.PreemptedByScheduler)
	assert.Equal(t, before.Victims[0].State, preemption.VictimTerminating)
	assert.Equal(t, before.Nomination.State, preemption.NominationWaiting)
	assert.Equal(t, r.last(t).Victims[0].State, preemption.VictimReleased)
}

// The victims of an enforced max are logged, without an ask; of very many only some are listed.
func TestPreemptionLog_RecordOfQuotaEnforcement(t *testing.T) {
	const maxVcore, runs = 10, 250
	s := queueSettings{max: fmt.Sprintf("vcore: %dm", maxVcore), delay: time.Minute}
	l := newQuotaEnforcementCore(t, s)
	for i := range runs {
		l.report(objects.AllocationKey(fmt.Sprint("k", i)), vcores(1))
	}
	l.now = l.now.Add(time.Hour)
	l.schedule()
	all := l.core.Preemptions()
	assert.Equal(t, all.Total, uint64(1))
	got := all.Last[0]
	assert.Equal(t, got.Reason, victim.ReasonQuota)
	assert.DeepEqual(t, got.QuotaViolation,
		&preemption.ViolatingQueue{Queue: "root.a", Excess: vcores(runs - maxVcore)})
	assert.Equal(t, len(got.Victims), 200)
	assert.Equal(t, got.MoreVictims, runs-maxVcore-200)
	assert.Equal(t, got.Victims[0].RuntimeSeconds, int64(3600))
	for _, key := range l.preempted {
		l.release(string(key))
	}
	for _, v := range l.core.Preemptions().Last[0].Victims {
		assert.Equal(t, v.State, preemption.VictimReleased)
	}
	assert.NilError(t, l.core.Check())
}
