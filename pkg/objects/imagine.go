package objects

import (
	"fmt"
	"iter"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Imagined is an ask that nobody made. It is in no book, and none knows of it, so questions
// about it need not be taken back: it refers to the books, and they do not refer to it. What
// it is asked must not be what masks and slots answer, since it has no slot.
type Imagined struct {
	*Allocation
	First *Application // that has to start before it may, in a StateAware leaf; nil: none
	names *resources.Names
}

// Amounts gives the quantities of a vector their names back, also where no book knows them.
func (x *Imagined) Amounts(v resources.Vector) resources.Amounts { return x.names.Amounts(v) }

// Applicant is whose an imagined ask is, if its application is not there.
type Applicant struct {
	User  security.User
	Queue QueuePath // a leaf
}

// Imagine makes up an ask of a class, of an application that is there or, if it is not, of one
// of who. The error says why the ask, or the application, would be refused. The partition stays
// as it is.
func (p *Partition) Imagine(class string, ask *Ask, who Applicant, now time.Time) (x Imagined, err error) {
	known := p.names
	p.names = known.Clone() // resources that nobody has get no number
	defer func() { p.names = known }()
	a, ok := p.apps[ask.App]
	if !ok {
		if a, err = p.imagineApplication(ask.App, who, now); err != nil {
			return x, err
		}
	}
	if err := p.quantities(ask.Amounts, resources.Asks); err != nil {
		return x, err
	}
	if p.overflows(ask.Amounts) {
		return x, ErrOverflow
	}
	if err := p.mayCount(a, class, ask.Amounts); err != nil {
		return x, err
	}
	created := ask.Created
	if created.IsZero() {
		created = now
	}
	x.Allocation = &Allocation{
		ask: ask, app: a, key: policies.AskKey{Priority: p.counted(ask), Created: created.UnixNano(), Arrival: p.arrivals + 1},
		shape: &Shape{amounts: ask.Amounts, vector: p.names.Hold(ask.Amounts, resources.Asks), required: ask.RequiredNode},
	}
	x.First, x.names = a.firstBefore(ask.Priority), p.names
	return x, nil
}

func (p *Partition) imagineApplication(id AppID, who Applicant, now time.Time) (*Application, error) {
	q, ok := p.queues[who.Queue]
	switch {
	case who.User.Name == "" || who.Queue == "":
		return nil, p.stranger(id) // nobody says whose it would be
	case !ok:
		return nil, fmt.Errorf("%w queue %s", ErrUnknown, who.Queue)
	case !q.Leaf():
		return nil, fmt.Errorf("queue %s %w", who.Queue, ErrLeaf)
	case q.draining:
		return nil, fmt.Errorf("queue %s %w", who.Queue, ErrDraining)
	case !q.MaySubmit(who.User):
		return nil, fmt.Errorf("%s", q.refusal(who.Queue, who.User))
	}
	a := &Application{
		id: id, user: who.User, queue: q, classes: newClasses(),
		key: policies.AppKey{ID: string(id), Submitted: now.UnixNano()},
	}
	p.imagineSeats(a)
	return a, nil
}

// imagineSeats is enroll, but for the accounts: they do not hear of a, and those that are not
// there are imagined too.
func (p *Partition) imagineSeats(a *Application) {
	group, grouped := a.limitGroup()
	sit := func(q *Queue, h Holder, rule limits.Rule) {
		x := q.accounts[h]
		if x == nil {
			x = &account{queue: q, holder: h, limit: rule.MaxResources, max: p.names.Bound(rule.MaxResources), most: rule.MaxApplications}
		}
		a.seats = append(a.seats, seat{account: x})
	}
	for q := a.queue; q != nil; q = q.parent {
		if rule, ok := limits.OfUser(q.conf.Limits, a.user.Name); ok {
			sit(q, Holder{Name: a.user.Name}, rule)
		}
		if rule, ok := limits.OfGroup(q.conf.Limits, group); ok && grouped {
			sit(q, Holder{Group: true, Name: group}, rule)
		}
	}
}

// firstBefore is the application of a StateAware leaf that would have to start before a may be
// given something, if a had one more ask of that priority; nil: none.
func (a *Application) firstBefore(priority int32) *Application {
	first := a.queue.newcomers.lowest()
	if a.queue.rule.sort != policies.StateAware || a.ramped || first == nil || first == a {
		return nil
	}
	key, tally := a.key, policies.Tally{}
	tally.Add(a.priority.Max())
	tally.Add(policies.Pending(priority))
	if key.Priority = tally.Max(); policies.CompareNew(&key, &first.key, a.queue.rule.by) < 0 {
		return nil
	}
	return first
}

// NodesTaking yields the nodes where x could be placed now, in node order. It looks at all of
// them, so it is for who cannot ask the index: an imagined ask.
func (p *Partition) NodesTaking(x *Allocation) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if id := x.shape.required; id != "" {
			if n, ok := p.nodes[id]; ok && n.Takes(x.shape) {
				yield(n)
			}
			return
		}
		for m := range p.byScore.members {
			if m.who.Takes(x.shape) && !yield(m.who) {
				return
			}
		}
	}
}
