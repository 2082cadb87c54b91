package scheduler_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// nominationCore is a Core with ask high nominated for node n, where its victims have not ended.
type nominationCore struct {
	t    *testing.T
	core *scheduler.Core
	now  time.Time
}

func newNominationCore(t *testing.T, timeout string, count int) *nominationCore {
	w := &nominationCore{t: t, now: epoch}
	w.core = scheduler.New(w.conf(timeout), nil)
	w.apply(scheduler.AddNode{Node: "n", Total: vcores(10), Schedulable: true},
		scheduler.AddApplication{App: "low", Queue: "root.a"}, scheduler.AddApplication{App: "high", Queue: "root.a"})
	for i := range count {
		w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("low-", i)), App: "low",
			Amounts: vcores(10 / 2)}})
	}
	w.core.Schedule(w.now, 10)
	w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{
		Key: "high", App: "high", Amounts: vcores(10), Priority: 9,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
	}})
	w.core.Schedule(w.now, 10)
	return w
}

// What is held for a nominated ask is not held for another one, and its nomination does not count against it.
func TestExplain_OfANominatedAsk(t *testing.T) {
	w := newNominationCore(t, "5m", 2)
	assert.Assert(t, w.isNominated())
	w.apply(scheduler.Release{App: "low", Key: "low-0", Type: scheduler.PreemptedByScheduler})
	w.core.Schedule(w.now, 10)
	e := w.core.Explain("high", w.now)
	assert.Equal(t, *e.Nodes, scheduler.NodeCounts{Total: 1, TooFull: 1})
	assert.Equal(t, e.Resources[0].MaxFreeOnNode, resources.Quantity(5))
	assert.Equal(t, len(e.HeldFor), 0)
	assert.Equal(t, e.Entitlements[victim.ReasonGuarantee].NotEntitled, preemption.Entitled)
	w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "other", App: "low", Amounts: vcores(5)}})
	e = w.core.Explain("other", w.now)
	assert.DeepEqual(t, e.HeldFor, []objects.Holder{{Node: "n", Key: "high", App: "high"}})
	assert.Equal(t, *e.Nodes, scheduler.NodeCounts{Total: 1, Reserved: 1})
	w.apply(scheduler.Release{App: "low", Key: "low-1", Type: scheduler.PreemptedByScheduler})
	e = w.core.Explain("high", w.now) // all that it requests is held, and for nobody else
	assert.Equal(t, e.Nodes.Reserved, 0)
	assert.Equal(t, len(e.HeldFor), 0)
	assert.Equal(t, e.Resources[0].MaxFreeOnNode, resources.Quantity(10))
}

func (w *nominationCore) conf(timeout string) configs.Partition {
	conf, problems := queuesyaml.Load([]byte("partitions: [{reservation: {enabled: false}, preemption: " +
		"{nominationtimeout: " + timeout + "}, queues: [{name: root," +
		" submitacl: '*', queues: [{name: a, resources: {guaranteed: {vcore: 10m}}, properties: {preemption.priority: " +
		"leaf}}]}]}]"))
	assert.Assert(w.t, conf != nil, "%v", problems)
	return conf.Partitions[0]
}

func (w *nominationCore) apply(cmds ...scheduler.Command) {
	for _, cmd := range cmds {
		w.core.Step(w.now, cmd)
		assert.NilError(w.t, w.core.Check())
	}
}

func (w *nominationCore) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.apply(scheduler.Wake{})
	w.core.Schedule(w.now, 10)
	assert.NilError(w.t, w.core.Check())
}

// isNominated reports whether high is nominated.
func (w *nominationCore) isNominated() bool {
	x, ok := w.core.Partition().Allocation("high")
	assert.Assert(w.t, ok)
	return w.core.Partition().Nomination(x) != nil
}

// overdue counts the overdue victims.
func (w *nominationCore) overdue() (n int) {
	for x := range w.core.Partition().Nodes()[0].EachAllocation {
		at, overdue := w.core.Partition().PreemptingSince(x)
		assert.Equal(w.t, at.IsZero(), !w.core.Partition().Preempting(x))
		if overdue {
			n++
		}
	}
	return n
}

func TestNomination_TimeoutBoundaries(t *testing.T) {
	for i, c := range []struct {
		name, timeout, changed string // before the timeout; empty: not changed
		passes                 time.Duration
		waits                  bool
	}{
		{"1. it ends at the timeout", "1m", "", time.Minute, false},
		{"2. and not before", "1m", "", time.Minute - 1, true},
		{"3. 0s is no timeout", "0s", "", 1000 * time.Hour, true},
		{"4. a shorter timeout holds for existing nominations", "1h", "1m", time.Minute, false},
		{"5. so does a longer one", "1m", "1h", time.Minute, true},
		{"6. and no timeout", "1m", "0s", time.Hour, true},
		{"7. a new timeout counts from the nomination", "0s", "1m", time.Minute, false},
	} {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			w := newNominationCore(t, c.timeout, 2)
			assert.Assert(t, w.isNominated(), c.name)
			w.now = w.now.Add(c.passes - 1)
			if c.changed != "" {
				w.apply(scheduler.UseConfig{Partition: w.conf(c.changed)})
			}
			w.advance(1)
			assert.Equal(t, w.isNominated(), c.waits, c.name)
			want, state := 2, preemption.NominationTimedOut
			if c.waits {
				want, state = 0, preemption.NominationWaiting
			}
			assert.Equal(t, w.core.Preemptions().Last[0].Nomination.State, state, c.name)
			assert.Equal(t, w.overdue(), want, c.name)
		})
	}
}

// The timeout is a deadline, and not one that is due already.
func TestNomination_TimeoutIsADeadline(t *testing.T) {
	w := newNominationCore(t, "1m", 2)
	w.advance(time.Second) // the waiting states have been evaluated
	at, ok := w.core.NextDeadline()
	assert.Assert(t, ok)
	assert.Equal(t, at, epoch.Add(time.Minute))
	w.now = at
	w.apply(scheduler.Wake{})
	if at, ok := w.core.NextDeadline(); ok {
		assert.Assert(t, at.After(w.now), "a deadline that is due is returned again")
	}
	w.core.Schedule(w.now, 1)
	assert.Assert(t, !w.isNominated())
	evaluated := w.now
	w.advance(time.Second) // the waiting states
	at, ok = w.core.NextDeadline()
	assert.Assert(t, ok)
	assert.Equal(t, at, evaluated.Add(5*time.Second), "the next evaluation")
}

// A resize does not confirm a preemption, and does not change its time.
func TestVictim_StaysOverdueAfterResize(t *testing.T) {
	w := newNominationCore(t, "1m", 2)
	w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "low-0", App: "low", Amounts: vcores(4)}})
	w.advance(time.Minute)
	assert.Equal(t, w.overdue(), 2)
	w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "low-0", App: "low", Amounts: vcores(3)}},
		scheduler.UseConfig{Partition: w.conf("0s")})
	w.advance(time.Hour)
	assert.Equal(t, w.overdue(), 2)
	w.apply(scheduler.Release{App: "low", Key: "low-0", Type: scheduler.PreemptedByScheduler},
		scheduler.Release{App: "low", Key: "low-1", Type: scheduler.PreemptedByScheduler})
	w.advance(0)
	x, _ := w.core.Partition().Allocation("high")
	assert.Assert(t, !x.Pending(), "the overdue victims have ended, and high is pending")
}

// Victims that have ended are not kept in memory.
func TestVictim_ReleasedVictimsAreForgotten(t *testing.T) {
	w := newNominationCore(t, "1h", 2)
	for i := range 300 {
		key := objects.AllocationKey(fmt.Sprint("more-", i))
		w.apply(scheduler.Release{App: "low", Key: "low-0"}, scheduler.Release{App: "low", Key: "low-1"},
			scheduler.Release{App: "high"})
		w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: "low", Amounts: vcores(10)}})
		w.core.Schedule(w.now, 10)
		w.apply(scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: "again", App: "high", Amounts: vcores(10), Priority: 9,
			Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
		}})
		w.advance(0)
		x, ok := w.core.Partition().Allocation(key)
		assert.Assert(t, ok && w.core.Partition().Preempting(x), "round %d", i)
		w.apply(scheduler.Release{App: "low", Key: key, Type: scheduler.PreemptedByScheduler})
	}
	remembered := reflect.ValueOf(w.core).Elem().FieldByName("preemption").Elem().FieldByName("timeouts").FieldByName(
		"expected").Len()
	assert.Assert(t, remembered > 0 && remembered < 50, "%d are remembered", remembered)
}

// A group that gave up a nomination backs off, also if a reload gives it a reason to be evaluated (PRE-80).
func TestNomination_TimedOutAskBacksOff(t *testing.T) {
	w := newNominationCore(t, "1m", 2)
	w.apply(scheduler.AddNode{Node: "m", Total: vcores(10), Schedulable: true},
		scheduler.ReportAllocation{Node: "m", Ask: &objects.Ask{Key: "other", App: "low", Amounts: vcores(10)}})
	disabled := w.conf("1m")
	disabled.PreemptionEnabled = false
	w.apply(scheduler.UseConfig{Partition: disabled}, scheduler.UseConfig{Partition: w.conf("1m")})
	other, _ := w.core.Partition().Allocation("other")
	w.advance(time.Minute)
	assert.Assert(t, !w.isNominated() && !w.core.Partition().Preempting(other))
	w.advance(5*time.Second - 1)
	assert.Assert(t, !w.isNominated() && !w.core.Partition().Preempting(other))
	w.advance(1)
	assert.Assert(t, w.isNominated() && w.core.Partition().Preempting(other))
}
