package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// preemptionLog remembers the last preemptions, and follows what becomes of them: the asks
// until they are placed or cancelled, the victims until they have left. It decides nothing.
//
// Invariant: who is followed is in the partition.
type preemptionLog struct {
	maxEntries           int
	total                uint64
	unknownConfirmations uint64               // confirmations about nobody
	ring                 []*trackedPreemption // once it is full, the oldest is at made%most
	byAsk                map[*objects.Allocation]*trackedPreemption
	byVictim             map[*objects.Allocation]*trackedPreemption
}

// trackedPreemption is a preemption with those of whom there is more to say.
type trackedPreemption struct {
	Preemption
	ask     *objects.Allocation   // nil: it was placed or cancelled, or has preempted again
	victims []*objects.Allocation // nil: it has left
}

// DefaultPreemptionLogSize is how many preemptions are remembered, if nobody says otherwise.
const DefaultPreemptionLogSize = 1000

func newPreemptionLog(maxEntries int) preemptionLog {
	if maxEntries <= 0 {
		maxEntries = DefaultPreemptionLogSize
	}
	return preemptionLog{maxEntries: maxEntries, byAsk: map[*objects.Allocation]*trackedPreemption{}, byVictim: map[*objects.Allocation]*trackedPreemption{}}
}

// add remembers f, and forgets the oldest if there are too many.
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

// endNomination notes the end of the nomination of x, if it is followed.
func (l *preemptionLog) endNomination(x *objects.Allocation, n Nomination) {
	if f := l.byAsk[x]; f != nil && f.Nomination.State == NominationWaiting {
		f.Nomination = n
	}
}

// recordPlaced notes that x has its node, and follows it no more.
func (l *preemptionLog) recordPlaced(x *objects.Allocation, now time.Time) {
	if f := l.byAsk[x]; f != nil {
		l.endNomination(x, Nomination{State: NominationPlaced, EndedAt: now})
		f.Placement = Placement{now, x.Node().ID()}
		delete(l.byAsk, x)
		f.ask = nil
	}
}

// recordCancelled notes that nobody wants x any more, and follows it no more.
func (l *preemptionLog) recordCancelled(x *objects.Allocation, now time.Time) {
	if f := l.byAsk[x]; f != nil {
		l.endNomination(x, Nomination{State: NominationCancelled, EndedAt: now})
		f.CancelledAt = now
		delete(l.byAsk, x)
		f.ask = nil
	}
}

// recordVictimEnd notes that y has left, if it was told to.
func (l *preemptionLog) recordVictimEnd(y *objects.Allocation, e VictimEnd) {
	f := l.byVictim[y]
	if f == nil {
		return
	}
	delete(l.byVictim, y)
	i := slices.Index(f.victims, y)
	f.victims[i], f.Victims[i].End = nil, e
}

// untrackAll follows nobody any more: the RM says everything again.
func (l *preemptionLog) untrackAll(now time.Time) {
	for _, f := range l.ring {
		if f.ask != nil {
			l.endNomination(f.ask, Nomination{State: NominationUnknown, EndedAt: now})
		}
		for i, y := range f.victims {
			if y != nil {
				f.Victims[i].End = VictimEnd{State: VictimUnknown, At: now}
			}
		}
		l.untrack(f)
	}
}

// check reports whether everybody who is followed is there.
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
		if !ok || known != y || !p.Preempting(y) || !slices.Contains(f.victims, y) || l.total-f.Number >= uint64(l.maxEntries) {
			return fmt.Errorf("preemption %d tracks victim %s, which is not being preempted, or is gone, or is no longer logged", f.Number, y.Key())
		}
	}
	return nil
}

// logPreemption remembers that a plan is about to be carried out. One for which nobody has to leave is no
// preemption: its ask waits for others who do.
func (c *Core) logPreemption(plan preemption.Plan, now time.Time) {
	x := plan.Ask
	if len(plan.Victims) == 0 {
		return
	}
	f := trackVictims(plan.Victims, now)
	f.ask, f.Ask, f.Reason, f.Node, f.NodeOutcomes = x, preemptorOf(x), plan.Reason, plan.Node.ID(), plan.Outcomes
	f.Candidates, f.MoreCandidates = listCandidates(c.search().Candidates(plan))
	reasons, _ := preemption.EntitledReasons(c.part, x, now)
	if i := slices.Index(reasons, plan.Reason); i > 0 {
		f.TriedReasons = reasons[:i]
	}
	c.preemptionLog.add(f)
}

// logQuotaPreemption remembers that victims are about to be told to leave because q is above its max.
func (c *Core) logQuotaPreemption(q *objects.Queue, victims []*objects.Allocation, now time.Time) {
	f := trackVictims(victims, now)
	f.Reason, f.Excess = preemption.ReasonQuota, Excess{q.Path(), withoutNegative(c.part.Amounts(q.Excess()))}
	c.preemptionLog.add(f)
}

// logNodePressurePreemption remembers that victims are about to be told to leave because a node has less than
// it holds.
func (c *Core) logNodePressurePreemption(id objects.NodeID, load preemption.NodeLoad, victims []*objects.Allocation, now time.Time) {
	f := trackVictims(victims, now)
	lacks := resources.Amounts{}.Sub(load.Available)
	f.Reason, f.Node, f.Excess = preemption.ReasonNodePressure, id, Excess{Amounts: withoutNegative(lacks)}
	c.preemptionLog.add(f)
}

// withoutNegative is a without what is below zero.
func withoutNegative(a resources.Amounts) resources.Amounts {
	m := a.Map()
	maps.DeleteFunc(m, func(_ string, n resources.Quantity) bool { return n < 0 })
	return resources.FromMap(m)
}

func trackVictims(victims []*objects.Allocation, now time.Time) *trackedPreemption {
	f := &trackedPreemption{victims: slices.Clone(victims[:min(len(victims), maxListed)])}
	f.At = now
	f.Victims, f.MoreVictims = listVictims(victims, now)
	return f
}

func preemptorOf(x *objects.Allocation) Preemptor {
	a, ask := x.Application(), x.Ask()
	return Preemptor{
		Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, User: a.User().Name, Queue: a.Queue().Path(),
		Priority: ask.Priority, Amounts: ask.Amounts, Created: x.Created(), RequiredNode: ask.RequiredNode,
	}
}

func listVictims(list []*objects.Allocation, now time.Time) (out []Victim, more int) {
	out = make([]Victim, min(len(list), maxListed))
	for i, y := range list[:len(out)] {
		ask := y.Ask()
		out[i] = Victim{
			Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, Queue: y.Application().Queue().Path(),
			Node: y.Node().ID(), Priority: ask.Priority, Amounts: ask.Amounts, BoundAt: y.BoundAt(), RunTime: max(now.Sub(y.BoundAt()), 0),
			Grace: priorities.GracePeriodOf(ask.Tags),
		}
	}
	return out, len(list) - len(out)
}

// listCandidates has keys of its own: those of asks are part of larger texts.
func listCandidates(list []preemption.Candidate) (out []Candidate, more int) {
	out = make([]Candidate, min(len(list), maxListed))
	for i, y := range list[:len(out)] {
		ask := y.Ask()
		out[i] = Candidate{
			Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, Queue: y.Application().Queue().Path(),
			Priority: ask.Priority, Ineligible: y.Ineligible, Victim: y.Victim,
		}
	}
	return out, len(list) - len(out)
}
