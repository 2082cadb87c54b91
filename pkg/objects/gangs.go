package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// Gangs: an application has its gang (package gangs), and the partition knows which placeholders are about to end and
// which real asks replace them. A real ask of a task group waits while the task group has placeholders (GAN-4); its
// ask group is held back, which is like having no schedulable ask.

// gangState has what the ledger knows of gangs beside the counts of each.
type gangState struct {
	ending    map[*Allocation]endingPlaceholder
	replacing map[*Allocation]*Allocation // a pending ask, and the placeholder that it replaces
	timers    gangTimers
	complete  map[*Application]struct{} // have enough members, which wait to be placed together; nil: none ever had
}

func newGangState() gangState {
	return gangState{ending: map[*Allocation]endingPlaceholder{}, replacing: map[*Allocation]*Allocation{}}
}

// isEnding reports whether the release of x is ordered because it is a placeholder that is Replaced or has timed out.
func (s *gangState) isEnding(x *Allocation) bool {
	if len(s.ending) == 0 {
		return false
	}
	_, ending := s.ending[x]
	return ending
}

// GangLedger is the part of the ledger that is about gangs.
type GangLedger struct{ p *Partition }

// Gangs is the part of the ledger that is about gangs.
func (p *Partition) Gangs() GangLedger { return GangLedger{p} }

// Ending reports whether x is a placeholder whose release is ordered and not confirmed, other than by preemption.
func (l GangLedger) Ending(x *Allocation) bool { return l.p.gangs.isEnding(x) }

// Replaces is the placeholder that a pending ask replaces when its release is confirmed; nil: none.
func (l GangLedger) Replaces(x *Allocation) *Allocation {
	if len(l.p.gangs.replacing) == 0 {
		return nil
	}
	return l.p.gangs.replacing[x]
}

// EachReplacing yields the pending asks that replace a placeholder when its release is confirmed, in no order.
func (l GangLedger) EachReplacing(yield func(*Allocation) bool) {
	for x := range l.p.gangs.replacing {
		if !yield(x) {
			return
		}
	}
}

// Gang is the gang of the application; nil: it declared none, and never had a placeholder. Read-only.
func (a *Application) Gang() *gangs.Gang { return a.gang }

// DeclareGang gives a new application the gang that the RM declares. Requires: it has no asks.
func (a *Application) DeclareGang(s gangs.Spec) {
	if s.Declared() {
		a.gang = gangs.New(s)
	}
}

// IsPlaceholder reports whether x is a placeholder of a task group.
func (x *Allocation) IsPlaceholder() bool { return x.ask.Placeholder && x.ask.TaskGroup() != "" }

// holdOf is whether the asks of a group with this ID wait for placeholders of their task group, or for each other.
func (a *Application) holdOf(id askGroupID) hold {
	switch {
	case a.gang == nil || id.placeholder || id.taskGroup == "" || !a.gang.HoldsBack(id.taskGroup):
		return notHeld
	case a.gang.Ready():
		return heldReady
	}
	return heldBack
}

// added counts x if it is a placeholder, and begins the timeout if it is a member that the gang waits for. The caller
// reindexes the application.
func (l GangLedger) added(x *Allocation, now time.Time) {
	a := x.app
	if !x.IsPlaceholder() {
		if a.gang != nil && a.gang.MinMember(x.ask.TaskGroup()) > 0 {
			l.begin(a, now)
		}
		return
	}
	if a.gang == nil {
		a.gang = gangs.New(gangs.Spec{})
	}
	l.count(a, func(g *gangs.Gang) bool { return g.Add(x.ask.TaskGroup(), x.ask.Amounts, now) })
}

// removed counts the end of x if it is a placeholder. The caller reindexes the application.
func (l GangLedger) removed(x *Allocation) {
	if !x.IsPlaceholder() {
		return
	}
	mark, ending := l.p.gangs.ending[x]
	delete(l.p.gangs.ending, x)
	l.count(x.app, func(g *gangs.Gang) bool {
		if ending {
			g.CountEnding(-1)
		}
		switch {
		case mark.timedOut:
			return false // it was counted when its release was ordered
		case mark.replaced:
			return g.Replace(x.ask.TaskGroup())
		}
		return g.End(x.ask.TaskGroup())
	})
}

// count changes the counts of the gang of an application, and what follows from them. by reports whether a task
// group holds asks back now or no longer. The caller reindexes the application.
func (l GangLedger) count(a *Application, by func(*gangs.Gang) (holdChanged bool)) {
	before := a.gang.Deadline()
	holdChanged := by(a.gang)
	l.p.gangs.timers.move(a, before, a.gang.Deadline())
	l.p.journal.post(Change{Kind: GangCountsChanged, App: a})
	if !holdChanged {
		return
	}
	for _, group := range a.askGroups.list {
		if hold := a.holdOf(group.id); hold != group.hold {
			group.hold = hold
			a.askGroups.reindex(group)
			l.p.Reservations().clearHeld(group)
			l.p.journal.post(Change{Kind: AskGroupHeld, Group: group})
		}
	}
}

// bound updates the state of the application of x, which was bound to a node, and the timeout of its gang (APP-5,
// GAN-9, GAN-13).
func (l GangLedger) bound(x *Allocation, now time.Time) {
	a := x.app
	if !x.IsPlaceholder() {
		if a.gang != nil && a.gang.MinMember(x.ask.TaskGroup()) > 0 {
			l.endWait(a)
		}
		for a.state == lifecycle.Accepted || a.state == lifecycle.Resuming {
			l.p.handleEvent(a, lifecycle.RunApplication, lifecycle.ReasonAllocated, now)
		}
		l.p.handleEvent(a, lifecycle.RunApplication, lifecycle.ReasonAllocated, now)
		return
	}
	if a.state != lifecycle.Accepted {
		return
	}
	if a.gang.Complete(l.p.names.Amounts(a.extra.placeholders)) {
		l.p.handleEvent(a, lifecycle.RunApplication, lifecycle.ReasonGangAllocated, now)
	}
	before := a.gang.Deadline()
	a.gang.Start(now)
	l.p.gangs.timers.move(a, before, a.gang.Deadline())
}

// SetRefusal records why the members of a could not be placed together, and takes their groups out of the order; empty:
// they are tried again. Requires: the gang of a is ready, or was refused.
func (l GangLedger) SetRefusal(a *Application, reason string) {
	a.gang.Refuse(reason)
	a.reindexReady()
	l.p.reindex(a)
	l.p.journal.post(Change{Kind: GangRefused, App: a})
}
