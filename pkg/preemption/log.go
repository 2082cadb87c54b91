package preemption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// preemptionLog holds the last preemptions (PRE-109). It tracks their asks until they are placed or cancelled, and
// their victims until they have ended. No decision depends on it.
//
// Invariant: everything that is tracked is in the partition.
type preemptionLog struct {
	maxEntries           int
	total                uint64
	unknownConfirmations uint64               // of preemptions of unknown allocations
	ring                 []*trackedPreemption // once it is full, the oldest is at total%maxEntries
	byAsk                map[*objects.Allocation]*trackedPreemption
	byVictim             map[*objects.Allocation]*trackedPreemption
}

// trackedPreemption is a preemption whose ask or victims can still change.
type trackedPreemption struct {
	Preemption
	ask     *objects.Allocation   // nil: placed or cancelled, or it has preempted again
	victims []*objects.Allocation // nil: ended
}

func newPreemptionLog(maxEntries int) preemptionLog {
	if maxEntries <= 0 {
		maxEntries = DefaultPreemptionLogSize
	}
	return preemptionLog{maxEntries: maxEntries, byAsk: map[*objects.Allocation]*trackedPreemption{},
		byVictim: map[*objects.Allocation]*trackedPreemption{}}
}

// add logs f, and drops the oldest preemption if there are too many.
func (l *preemptionLog) add(f *trackedPreemption) {
	if at := int(l.total % uint64(l.maxEntries)); at < len(l.ring) {
		l.untrack(l.ring[at])
		l.ring[at] = f
	} else {
		l.ring = append(l.ring, f)
	}
	l.total++
	f.Number = l.total
	if older := l.byAsk[f.ask]; older != nil {
		older.ask = nil
	}
	if f.ask != nil {
		l.byAsk[f.ask] = f
	}
	for _, y := range f.victims {
		l.byVictim[y] = f
	}
}

func (l *preemptionLog) untrack(f *trackedPreemption) {
	if f.ask != nil {
		delete(l.byAsk, f.ask)
		f.ask = nil
	}
	for i, y := range f.victims {
		delete(l.byVictim, y)
		f.victims[i] = nil
	}
}

// endNomination records the end of the nomination of x, if x is tracked.
func (l *preemptionLog) endNomination(x *objects.Allocation, n Nomination) {
	if f := l.byAsk[x]; f != nil && f.Nomination.State == NominationWaiting {
		f.Nomination = &n
	}
}

// recordPlaced records that x was bound, and stops tracking it.
func (l *preemptionLog) recordPlaced(x *objects.Allocation, now time.Time) {
	if f := l.byAsk[x]; f != nil {
		l.endNomination(x, Nomination{State: NominationPlaced, EndedAt: objects.TimestampOf(now)})
		f.Placed = &Placed{objects.TimestampOf(now), x.Node().ID(), int64(now.Sub(f.At.Time()).Seconds())}
		delete(l.byAsk, x)
		f.ask = nil
	}
}

// recordCancelled records that x was cancelled, and stops tracking it.
func (l *preemptionLog) recordCancelled(x *objects.Allocation, now time.Time) {
	if f := l.byAsk[x]; f != nil {
		l.endNomination(x, Nomination{State: NominationCancelled, EndedAt: objects.TimestampOf(now)})
		f.CancelledAt = objects.TimestampOf(now)
		delete(l.byAsk, x)
		f.ask = nil
	}
}

// recordVictimEnd records that y has ended, if it is a tracked victim.
func (l *preemptionLog) recordVictimEnd(y *objects.Allocation, e VictimEnd) {
	f := l.byVictim[y]
	if f == nil {
		return
	}
	delete(l.byVictim, y)
	i := slices.Index(f.victims, y)
	f.victims[i], f.Victims[i].VictimEnd = nil, e
}

// untrackAll stops tracking everything: the RM has re-registered (PRE-89).
func (l *preemptionLog) untrackAll(now time.Time) {
	for _, f := range l.ring {
		if f.ask != nil {
			l.endNomination(f.ask, Nomination{State: NominationUnknown, EndedAt: objects.TimestampOf(now)})
		}
		for i, y := range f.victims {
			if y != nil {
				f.Victims[i].VictimEnd = VictimEnd{State: VictimUnknown, EndedAt: objects.TimestampOf(now)}
			}
		}
		l.untrack(f)
	}
}

// check verifies that tracked asks and victims are in the partition, in the state that the log has.
func (l *preemptionLog) check(p *objects.Partition) error {
	for x, f := range l.byAsk {
		n, waiting := p.Nomination(x), f.Nomination.State == NominationWaiting
		known, ok := p.Allocation(f.Ask.Key)
		switch {
		case l.total-f.Number >= uint64(l.maxEntries):
			return fmt.Errorf("preemption %d is no longer logged, and tracks ask %s", f.Number, f.Ask.Key)
		case !ok || known != x || !x.Pending() || f.ask != x:
			return fmt.Errorf("preemption %d tracks ask %s, which is not pending", f.Number, f.Ask.Key)
		case waiting && (n == nil || n.ID() != f.Node):
			return fmt.Errorf("preemption %d says that ask %s waits for node %s, and it does not", f.Number, f.Ask.Key, f.Node)
		}
	}
	for y, f := range l.byVictim {
		known, ok := p.Allocation(y.Key())
		if !ok || known != y || !p.Preempting(y) || !slices.Contains(f.victims, y) ||
			l.total-f.Number >= uint64(l.maxEntries) {
			return fmt.Errorf("preemption %d tracks victim %s, which is not being preempted, or is gone, or is no longer logged",
				f.Number, y.Key())
		}
	}
	return nil
}

// logPreemption logs a plan before it is carried out. A plan without victims is not logged: its ask waits
// for the victims of others (PRE-74).
func (eng *Engine) logPreemption(plan victim.Plan, now time.Time) {
	x := plan.Ask
	if len(plan.Victims) == 0 {
		return
	}
	f := trackVictims(plan.Victims, now)
	f.ask, f.Ask, f.Reason, f.Node, f.Nomination = x, PreemptorOf(x), plan.Reason, plan.Node.ID(), new(Nomination)
	outcomes := plan.Outcomes // the log must not keep the plan
	f.NodeOutcomes = &outcomes
	f.Candidates, f.MoreCandidates = listCandidates(eng.search().At(now).Candidates(plan))
	reasons, _ := EntitledReasons(eng.shares, x, now)
	if i := slices.Index(reasons, plan.Reason); i > 0 {
		f.TriedReasons = reasons[:i]
	}
	eng.log.add(f)
	eng.changes.recordRemoved = true
}

// logQuotaPreemption logs victims of an enforced max before they are preempted.
func (eng *Engine) logQuotaPreemption(q *objects.Queue, victims []*objects.Allocation, now time.Time) {
	f := trackVictims(victims, now)
	f.Reason = victim.ReasonQuota
	f.QuotaViolation = &ViolatingQueue{q.Path(), withoutNegative(eng.part.Amounts(q.Quota().Excess()))}
	eng.log.add(f)
}

// logNodePressurePreemption logs victims of node pressure before they are preempted.
func (eng *Engine) logNodePressurePreemption(id objects.NodeID, load victim.NodeLoad, victims []*objects.Allocation,
	now time.Time) {
	f := trackVictims(victims, now)
	f.Reason, f.Node, f.Shortfall = victim.ReasonNodePressure, id, load.Available.Shortage()
	eng.log.add(f)
}

// withoutNegative returns a without negative amounts.
func withoutNegative(a resources.Amounts) resources.Amounts {
	m := a.Map()
	maps.DeleteFunc(m, func(_ string, n resources.Quantity) bool { return n < 0 })
	return resources.FromMap(m)
}

func trackVictims(victims []*objects.Allocation, now time.Time) *trackedPreemption {
	f := &trackedPreemption{victims: slices.Clone(victims[:min(len(victims), maxListed)])}
	f.At = objects.TimestampOf(now)
	f.Victims, f.MoreVictims = listVictims(victims, now)
	return f
}

// PreemptorOf returns an ask in its present state.
func PreemptorOf(x *objects.Allocation) *Preemptor {
	a, ask := x.Application(), x.Ask()
	return &Preemptor{
		Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, User: a.User().Name,
		Queue:    a.Queue().Path(),
		Priority: ask.Priority, Amounts: ask.Amounts, Created: objects.TimestampOf(x.Created()),
		RequiredNode: ask.RequiredNode(),
	}
}

func listVictims(list []*objects.Allocation, now time.Time) (out []Victim, more int) {
	out = make([]Victim, min(len(list), maxListed))
	for i, y := range list[:len(out)] {
		ask, seconds := y.Ask(), int64(max(now.Sub(y.BoundAt()), 0).Seconds())
		out[i] = Victim{
			Key: ask.Key, App: ask.App, Queue: y.Application().Queue().Path(), Node: y.Node().ID(), Priority: ask.Priority,
			Amounts: ask.Amounts, BoundAt: objects.TimestampOf(y.BoundAt()), RuntimeSeconds: seconds,
			GraceSeconds: int64(priorities.GracePeriodOf(ask.Tags()).Seconds()), LostWork: ask.Amounts.Times(seconds),
		}
	}
	copyKeys(len(out), func(i int) *objects.AllocationKey { return &out[i].Key })
	return out, len(list) - len(out)
}

func listCandidates(list []victim.Candidate) (out []Candidate, more int) {
	out = make([]Candidate, min(len(list), maxListed))
	for i, y := range list[:len(out)] {
		ask := y.Ask()
		out[i] = Candidate{
			Key: ask.Key, App: ask.App, Queue: y.Application().Queue().Path(),
			Priority: ask.Priority, Victim: y.Victim, Reason: candidateOutcome(y),
			YoungUntil: objects.TimestampOf(y.YoungUntil),
		}
	}
	copyKeys(len(out), func(i int) *objects.AllocationKey { return &out[i].Key })
	return out, len(list) - len(out)
}

// candidateOutcome says whether a candidate became a victim, or why not.
func candidateOutcome(y victim.Candidate) string {
	switch {
	case y.Victim:
		return "victim"
	case y.Ineligible == victim.Eligible:
		return "eligible, but not needed"
	}
	return y.Ineligible.String()
}

// copyKeys replaces n keys by parts of one new string: the keys of asks are parts of larger strings, which they would
// keep in memory.
func copyKeys(n int, key func(i int) *objects.AllocationKey) {
	size := 0
	for i := range n {
		size += len(*key(i))
	}
	var all strings.Builder
	all.Grow(size)
	for i := range n {
		all.WriteString(string(*key(i)))
	}
	text := objects.AllocationKey(all.String())
	for i := range n {
		k := key(i)
		*k, text = text[:len(*k)], text[len(*k):]
	}
}
