package objects

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Moved is the last move of an application to another queue by an operator (OPS-9).
type Moved struct {
	From QueuePath `json:"from"`
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"` // empty: not known
}

// LastMove is the last move of a; nil: it is in the queue in which it was placed. Read-only.
func LastMove(p *Partition, a *Application) *Moved { return p.lists.moved[a] }

// RecordMove records a move of a, also one that was made before a registration.
func RecordMove(p *Partition, a *Application, m Moved) {
	if p.lists.moved == nil {
		p.lists.moved = map[*Application]*Moved{}
	}
	p.lists.moved[a] = &m
}

// CheckMove returns why an operator may not move a to a queue, quotas and gangs apart; nil: it may (OPS-9).
func CheckMove(p *Partition, a *Application, to *Queue) error {
	switch {
	case !to.Leaf():
		return fmt.Errorf("queue %s %w", to.path, ErrNotLeaf)
	case to.draining:
		return fmt.Errorf("queue %s %w", to.path, ErrDraining)
	case to.drained:
		return fmt.Errorf("queue %s %w", to.path, ErrDrained)
	case a.cancelled:
		return fmt.Errorf("application %s %w", a.ID(), ErrCancelled)
	case a.state == lifecycle.Failing:
		return fmt.Errorf("application %s %w", a.ID(), ErrFailing)
	case !to.MaySubmit(a.User()):
		return fmt.Errorf("%s", to.refusal(to.path, a.User()))
	}
	return nil
}

// CheckMoveQuotas returns why the quotas, limits or class quotas of a queue do not allow all of a; nil: they do
// (OPS-9).
func CheckMoveQuotas(p *Partition, a *Application, to *Queue) error {
	used := a.used()
	if c, blocked := a.quota.FirstBlockingMove(&to.quota, used, p.names); blocked {
		if running, bound := c.Running(); c.Kind().AboutApplications() {
			return fmt.Errorf("applications of %s: %d run, and %d may: %w", c, running, bound, ErrOverLimit)
		}
		return fmt.Errorf("%s: the application uses %s: %w", c, p.Amounts(used), ErrOverLimit)
	}
	return checkClassQuotasOfMove(p, a, to)
}

func checkClassQuotasOfMove(p *Partition, a *Application, to *Queue) error {
	if !p.quotas.HasClassQuotas() {
		return nil
	}
	m := p.quotas.ClassQuotasOfMove(&a.quota, &to.quota, p.names)
	for _, x := range a.Allocations() {
		if err := m.Add(p.PriorityClass(x), x.shape.Vector()); err != nil {
			return err
		}
	}
	return m.Exceeded()
}

// MoveApplication moves a with all that it has to another leaf: it counts there at once. Nominations, reservations and
// replacements of placeholders by its asks end; preemptions of its allocations go on (OPS-9). Requires: CheckMove
// returns nil; a is not in to.
func MoveApplication(p *Partition, a *Application, to *Queue) {
	from := a.queue
	p.Gangs().UnlinkAll(a)
	for _, x := range slices.Clone(p.Reservations().AsksOf(a)) {
		p.Reservations().Clear(x, ReservationQueueChanged)
	}
	m := takeOut(p, a)
	leaveLeaf(p, a)
	a.queue = to
	a.quota.MoveTo(&to.quota)
	to.byID[a.ID()] = a
	p.joinAccounts(a)
	putBack(p, m)
	p.updateRunning(a)
	p.deadlines.ramping.add(a)
	p.reindex(a)
	p.journal.post(Change{Kind: ApplicationMoved, App: a, Queue: from})
	p.Prune(from)
}

// leaveLeaf removes a, which counts for nothing, from its leaf.
func leaveLeaf(p *Partition, a *Application) {
	q := a.queue
	postRunning(p, a, false)
	p.leaveAccounts(a)
	p.reindex(a)
	p.deadlines.ramping.remove(a)
	delete(q.byID, a.ID())
	before := q.FirstStarting()
	q.reindexStarting(a, false)
	q.apps.Reindex(a, false)
	if first := q.FirstStarting(); first != before && first != nil {
		p.reindex(first)
		p.journal.post(Change{Kind: FirstStartingChanged, App: first})
	}
}

// used returns what a uses, placeholders included.
func (a *Application) used() resources.Vector {
	used := slices.Clone(a.allocated)
	used.Add(a.extra.placeholders)
	return used
}
