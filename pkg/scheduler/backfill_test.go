package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// In a state in which nothing arrives, no reservation can be used later than was known first, and no ask that has one
// is placed later, whatever is backfilled, and whether allocations end early or as late as they may (RES-13, RES-16).
func TestBackfill_ReservationsAreNotDelayed(t *testing.T) {
	runs, backfilled, released, known := testscale.Runs(4000), 0, 0, 0
	for seed := range uint64(runs) {
		f := newFrozen(t, seed)
		f.play()
		counts := f.core.BackfillCounts()
		backfilled, released, known = backfilled+int(counts.Placed), released+int(counts.Released), known+len(f.first)
	}
	t.Logf("%d runs: %d backfilled, %d released, %d reservations", runs, backfilled, released, known)
	assert.Assert(t, backfilled > runs/2 && released > runs/10 && known > runs, "%d, %d and %d of %d", backfilled,
		released, known, runs)
}

// An explanation asks the resource manager nothing: an answer that is remembered would change the next decision.
func TestBackfill_ExplainAsksNoPredicates(t *testing.T) {
	asked := 0
	f := newFrozen(t, 1)
	f.core.SetOracle(&objects.Oracle{Fits: func(key objects.AllocationKey, _ objects.NodeID) bool {
		asked++
		return !strings.HasPrefix(string(key), "small")
	}})
	refused := 0
	for range 3 {
		f.core.Schedule(f.now, 1000)
		f.now = f.now.Add(2 * time.Second)
		before := asked
		for key := range f.asks {
			if e := f.core.Explain(key, f.now); e.Backfill != nil && e.Backfill.Reason == backfill.NotYet {
				refused++
			}
		}
		assert.Equal(t, asked, before)
	}
	assert.Assert(t, asked > 0 && refused > 0, "%d answers, %d asks that might be backfilled", asked, refused)
}

// frozen is a cluster in which nothing arrives.
type frozen struct {
	*evaluationCore
	seed  uint64
	rng   *rand.Rand
	first map[objects.AllocationKey]time.Time // when a reservation could be used at the latest, as known first
	ends  map[objects.AllocationKey]time.Time // when the RM reports an end
	asks  map[objects.AllocationKey]*objects.Ask
}

func newFrozen(t *testing.T, seed uint64) *frozen {
	rng := rand.New(rand.NewPCG(seed, 45))
	conf := (&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}, {Path: "root.free"}}}).config(t)
	conf.PreemptionEnabled = false
	conf.Reservation = configs.Reservation{Enabled: true, Timeout: time.Hour, NodePercent: 100,
		Backfill: configs.BackfillBounded, BackfillAsks: 64, BackfillNodes: 64}
	for i := range conf.Root.Children {
		if q := &conf.Root.Children[i]; q.Name == "a" {
			q.RunTime = configs.RunTime{Default: time.Hour, Enforced: true, Grace: time.Duration(rng.IntN(3)) * time.Minute}
		}
	}
	f := &frozen{&evaluationCore{t, scheduler.New(conf, nil), epoch}, seed, rng,
		map[objects.AllocationKey]time.Time{}, map[objects.AllocationKey]time.Time{},
		map[objects.AllocationKey]*objects.Ask{}}
	add := func(app objects.AppID, queue string, gang gangs.Spec) {
		f.core.Step(f.now, scheduler.AddApplication{App: app, Queue: queue, User: security.User{Name: "ann"}, Gang: gang})
	}
	add("a", "root.a", gangs.Spec{})
	add("free", "root.free", gangs.Spec{})
	members := rng.IntN(3) * rng.IntN(2)
	add("gang", "root.a", gangs.Spec{Timeout: 1000 * time.Hour,
		Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: max(1, members)}}})
	for n := range 2 + rng.IntN(2) {
		node := objects.NodeID(fmt.Sprint("n", n))
		f.core.Step(f.now, scheduler.AddNode{Node: node, Total: amountsOf(12, 12), Schedulable: true})
		for i := range 4 {
			app := objects.AppID("a")
			if rng.IntN(20) == 0 {
				app = "free"
			}
			ask := f.ask(fmt.Sprintf("run-%d-%d", n, i), app, 1+rng.IntN(2), rng.IntN(4), 1+rng.IntN(200), "")
			f.core.Step(f.now, scheduler.ReportAllocation{Node: node, Ask: ask})
			f.started(ask)
		}
	}
	for i := range members {
		f.submit(f.ask(fmt.Sprint("member-", i), "gang", 5+rng.IntN(8), rng.IntN(12), 60, "g"))
	}
	for i := range 1 + rng.IntN(2) {
		f.submit(f.ask(fmt.Sprint("large-", i), "a", 7+rng.IntN(6), rng.IntN(12), 1+rng.IntN(100), ""))
	}
	for i := range 3 + rng.IntN(10) {
		f.submit(f.ask(fmt.Sprint("small-", i), "a", 1+rng.IntN(4), rng.IntN(4), 1+rng.IntN(100), ""))
	}
	return f
}

func (f *frozen) ask(key string, app objects.AppID, vcore, memory, minutes int, group string) *objects.Ask {
	return &objects.Ask{Key: objects.AllocationKey(key), App: app, Amounts: amountsOf(vcore, memory),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf,
		Details: &objects.AskDetails{TaskGroup: group, Tags: map[string]string{
			runtimes.BoundTag: fmt.Sprintf("%dm", minutes), priorities.GracePeriodTag: fmt.Sprint(f.rng.IntN(100))}}}
}

func (f *frozen) submit(ask *objects.Ask) {
	f.asks[ask.Key] = ask
	f.core.Step(f.now, scheduler.SubmitAsk{Ask: ask})
}

// started has half of what begins to run end early, at a random time.
func (f *frozen) started(ask *objects.Ask) {
	f.asks[ask.Key] = ask
	if f.rng.IntN(2) == 0 {
		f.ends[ask.Key] = f.now.Add(time.Duration(1+f.rng.IntN(3600)) * time.Second)
	}
}

// play has everything end until nothing happens any more.
func (f *frozen) play() {
	for step := range 1000 {
		effects, _ := f.core.Schedule(f.now, 1000)
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Allocated:
				f.onPlaced(e.Ask)
			case scheduler.Released: // it has its termination grace
				grace := priorities.GracePeriodOf(f.asks[e.Key].Tags())
				if at, ends := f.ends[e.Key]; !ends || at.After(f.now.Add(grace)) {
					f.ends[e.Key] = f.now.Add(grace)
				}
			}
		}
		f.check(step)
		next, ok := f.core.NextDeadline()
		for _, at := range f.ends {
			if !ok || at.Before(next) {
				next, ok = at, true
			}
		}
		if !ok || next.Sub(epoch) > 200*time.Hour {
			return
		}
		f.now = next
		for key, at := range f.ends {
			if !at.After(f.now) {
				delete(f.ends, key)
				f.core.Step(f.now, scheduler.Release{App: f.asks[key].App, Key: key, Type: scheduler.StoppedByRM})
			}
		}
		f.core.Step(f.now, scheduler.Wake{})
	}
}

func (f *frozen) onPlaced(ask *objects.Ask) {
	first, reserved := f.first[ask.Key]
	assert.Assert(f.t, !reserved || !f.now.After(first), "seed %d: %s is placed at %s, and not by %s", f.seed, ask.Key,
		f.now, first)
	f.started(ask)
}

// check verifies that no reservation is lost, and that none can be used later than was known first.
func (f *frozen) check(step int) {
	l := f.core.Partition().Reservations()
	for _, x := range l.Asks() {
		at, known := f.fitsAt(x)
		first, before := f.first[x.Key()]
		switch {
		case !known && !before:
		case !known:
			f.t.Fatalf("seed %d, step %d: nothing says when %s fits, and it was %s", f.seed, step, x.Key(), first)
		case !before:
			f.first[x.Key()] = at
		default:
			assert.Assert(f.t, !at.After(first), "seed %d, step %d: %s fits at %s, and it was %s", f.seed, step, x.Key(), at,
				first)
		}
	}
	for key := range f.first {
		if x, known := f.core.Partition().Allocation(key); known && x.Pending() {
			assert.Assert(f.t, l.Of(x) != nil, "seed %d, step %d: %s has lost its reservation", f.seed, step, key)
		}
	}
}

// fitsAt returns when x and, if it reserves with them, the other members of its gang fit at the latest, as explained.
func (f *frozen) fitsAt(x *objects.Allocation) (at time.Time, known bool) {
	l := f.core.Partition().Reservations()
	members := []objects.MemberNode{{Ask: x}}
	if l.Together(x) {
		members = l.MembersTogether()
	}
	at = f.now
	for _, m := range members {
		r := f.core.Explain(m.Ask.Key(), f.now).Reserved
		if len(r.Endless) > 0 {
			return at, false
		}
		if r.FitsAt.Time().After(at) {
			at = r.FitsAt.Time()
		}
	}
	return at, true
}
