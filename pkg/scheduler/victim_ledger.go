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

// victimLedger remembers the last preemptions, and follows what becomes of them: the asks
// until they are placed or cancelled, the victims until they have left. It decides nothing.
//
// Invariant: who is followed is in the partition.
type victimLedger struct {
	most    int
	made    uint64
	strays  uint64      // confirmations about nobody
	ring    []*followed // once it is full, the oldest is at made%most
	asks    map[*objects.Allocation]*followed
	victims map[*objects.Allocation]*followed
}

// followed is a preemption with those of whom there is more to say.
type followed struct {
	Preemption
	ask     *objects.Allocation   // nil: it was placed or cancelled, or has preempted again
	victims []*objects.Allocation // nil: it has left
}

// DefaultPreemptions is how many preemptions are remembered, if nobody says otherwise.
const DefaultPreemptions = 1000

func newVictimLedger(most int) victimLedger {
	if most <= 0 {
		most = DefaultPreemptions
	}
	return victimLedger{most: most, asks: map[*objects.Allocation]*followed{}, victims: map[*objects.Allocation]*followed{}}
}

// add remembers f, and forgets the oldest if there are too many.
func (l *victimLedger) add(f *followed) {
	if at := int(l.made % uint64(l.most)); at < len(l.ring) {
		l.unfollow(l.ring[at])
		l.ring[at] = f
	} else {
		l.ring = append(l.ring, f)
	}
	l.made++
	f.Number = l.made
	if before := l.asks[f.ask]; before != nil {
		before.ask = nil
	}
	if f.ask != nil {
		l.asks[f.ask] = f
	}
	for _, y := range f.victims {
		l.victims[y] = f
	}
}

func (l *victimLedger) unfollow(f *followed) {
	if f.ask != nil {
		delete(l.asks, f.ask)
		f.ask = nil
	}
	for i, y := range f.victims {
		delete(l.victims, y)
		f.victims[i] = nil
	}
}

// lose notes the end of the nomination of x, if it is followed.
func (l *victimLedger) lose(x *objects.Allocation, n Nomination) {
	if f := l.asks[x]; f != nil && f.Nomination.State == NominationWaits {
		f.Nomination = n
	}
}

// place notes that x has its node, and follows it no more.
func (l *victimLedger) place(x *objects.Allocation, now time.Time) {
	if f := l.asks[x]; f != nil {
		l.lose(x, Nomination{State: NominationKept, Until: now})
		f.Placed = Placed{now, x.Node().ID()}
		delete(l.asks, x)
		f.ask = nil
	}
}

// drop notes that nobody wants x any more, and follows it no more.
func (l *victimLedger) drop(x *objects.Allocation, now time.Time) {
	if f := l.asks[x]; f != nil {
		l.lose(x, Nomination{State: NominationCancelled, Until: now})
		f.Dropped = now
		delete(l.asks, x)
		f.ask = nil
	}
}

// gone notes that y has left, if it was told to.
func (l *victimLedger) gone(y *objects.Allocation, e End) {
	f := l.victims[y]
	if f == nil {
		return
	}
	delete(l.victims, y)
	i := slices.Index(f.victims, y)
	f.victims[i], f.Victims[i].End = nil, e
}

// abandon follows nobody any more: the RM says everything again.
func (l *victimLedger) abandon(now time.Time) {
	for _, f := range l.ring {
		if f.ask != nil {
			l.lose(f.ask, Nomination{State: NominationUnknown, Until: now})
		}
		for i, y := range f.victims {
			if y != nil {
				f.Victims[i].End = End{How: LeftUnknown, At: now}
			}
		}
		l.unfollow(f)
	}
}

// check reports whether everybody who is followed is there.
func (l *victimLedger) check(p *objects.Partition) error {
	for x, f := range l.asks {
		n, waits := p.Nomination(x), f.Nomination.State == NominationWaits
		known, ok := p.Allocation(f.Ask.Key)
		switch {
		case l.made-f.Number >= uint64(l.most):
			return fmt.Errorf("preemption %d is forgotten, and follows ask %s", f.Number, f.Ask.Key)
		case !ok || known != x || !x.Pending() || f.ask != x:
			return fmt.Errorf("preemption %d follows ask %s, which is not pending", f.Number, f.Ask.Key)
		case waits && (n == nil || n.ID() != f.Node):
			return fmt.Errorf("preemption %d says that ask %s waits for node %s, and it does not", f.Number, f.Ask.Key, f.Node)
		}
	}
	for y, f := range l.victims {
		known, ok := p.Allocation(y.Key())
		if !ok || known != y || !p.Leaving(y) || !slices.Contains(f.victims, y) || l.made-f.Number >= uint64(l.most) {
			return fmt.Errorf("preemption %d follows victim %s, which was not told to leave, or has left, or is forgotten", f.Number, y.Key())
		}
	}
	return nil
}

// note remembers that a plan is about to be carried out. One for which nobody has to leave is no
// preemption: its ask waits for others who do.
func (c *Core) note(plan preemption.Plan, now time.Time) {
	x := plan.Ask
	if len(plan.Victims) == 0 {
		return
	}
	f := followVictims(plan.Victims, now)
	f.ask, f.Ask, f.Right, f.Node, f.Seen = x, claimantOf(x), plan.Right, plan.Node.ID(), plan.Seen
	f.Candidates, f.MoreCandidates = candidatesOf(c.search().Candidates(plan))
	rights, _ := preemption.Rights(c.part, x, now)
	if i := slices.Index(rights, plan.Right); i > 0 {
		f.Vain = rights[:i]
	}
	c.ledger.add(f)
}

// noteQuota remembers that victims are about to be told to leave because q is above its max.
func (c *Core) noteQuota(q *objects.Queue, victims []*objects.Allocation, now time.Time) {
	f := followVictims(victims, now)
	f.Right, f.Excess = preemption.OfQuota, Excess{q.Path(), positive(c.part.Amounts(q.Excess()))}
	c.ledger.add(f)
}

// notePressure remembers that victims are about to be told to leave because a node has less than
// it holds.
func (c *Core) notePressure(id objects.NodeID, load preemption.Load, victims []*objects.Allocation, now time.Time) {
	f := followVictims(victims, now)
	lacks := resources.Amounts{}.Sub(load.Available)
	f.Right, f.Node, f.Excess = preemption.OfPressure, id, Excess{By: positive(lacks)}
	c.ledger.add(f)
}

// positive is a without what is below zero.
func positive(a resources.Amounts) resources.Amounts {
	m := a.Map()
	maps.DeleteFunc(m, func(_ string, n resources.Quantity) bool { return n < 0 })
	return resources.FromMap(m)
}

func followVictims(victims []*objects.Allocation, now time.Time) *followed {
	f := &followed{victims: slices.Clone(victims[:min(len(victims), mostNamed)])}
	f.At = now
	f.Victims, f.MoreVictims = victimsNamed(victims, now)
	return f
}

func claimantOf(x *objects.Allocation) Claimant {
	a, ask := x.Application(), x.Ask()
	return Claimant{
		Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, User: a.User().Name, Queue: a.Queue().Path(),
		Priority: ask.Priority, Amounts: ask.Amounts, Created: x.Created(), RequiredNode: ask.RequiredNode,
	}
}

func victimsNamed(list []*objects.Allocation, now time.Time) (out []Victim, more int) {
	out = make([]Victim, min(len(list), mostNamed))
	for i, y := range list[:len(out)] {
		ask := y.Ask()
		out[i] = Victim{
			Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, Queue: y.Application().Queue().Path(),
			Node: y.Node().ID(), Priority: ask.Priority, Amounts: ask.Amounts, BoundAt: y.BoundAt(), Ran: max(now.Sub(y.BoundAt()), 0),
			Grace: priorities.GraceOf(ask.Tags),
		}
	}
	return out, len(list) - len(out)
}

// candidatesOf has keys of its own: those of asks are part of larger texts.
func candidatesOf(list []preemption.Candidate) (out []Candidate, more int) {
	out = make([]Candidate, min(len(list), mostNamed))
	for i, y := range list[:len(out)] {
		ask := y.Ask()
		out[i] = Candidate{
			Key: objects.AllocationKey(strings.Clone(string(ask.Key))), App: ask.App, Queue: y.Application().Queue().Path(),
			Priority: ask.Priority, Law: y.Law, Victim: y.Victim,
		}
	}
	return out, len(list) - len(out)
}
