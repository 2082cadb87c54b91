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

// HypotheticalAsk is an ask that nobody made. It is in no book, and none knows of it, so questions
// about it need not be taken back: it refers to the books, and they do not refer to it. What
// it is asked must not be what masks and slots answer, since it has no slot.
type HypotheticalAsk struct {
	*Allocation
	MustStartFirst *Application // that has to start before it may, in a StateAware leaf; nil: none
	names          *resources.NameTable
}

// Amounts gives the quantities of a vector their names back, also where no book knows them.
func (x *HypotheticalAsk) Amounts(v resources.Vector) resources.Amounts { return x.names.Amounts(v) }

// HypotheticalOwner is whose an imagined ask is, if its application is not there.
type HypotheticalOwner struct {
	User  security.User
	Queue QueuePath // a leaf
}

// NewHypotheticalAsk makes up an ask of a class, of an application that is there or, if it is not, of one
// of who. The error says why the ask, or the application, would be refused. The partition stays
// as it is.
func (p *Partition) NewHypotheticalAsk(priorityClass string, ask *Ask, owner HypotheticalOwner, now time.Time) (x HypotheticalAsk, err error) {
	names := p.names
	p.names = names.Clone() // resources that nobody has get no number
	defer func() { p.names = names }()
	a, ok := p.apps[ask.App]
	if !ok {
		if a, err = p.hypotheticalApplication(ask.App, owner, now); err != nil {
			return x, err
		}
	}
	if err := p.checkQuantities(ask.Amounts, resources.Asks); err != nil {
		return x, err
	}
	if p.overflows(ask.Amounts) {
		return x, ErrOverflow
	}
	if err := p.classQuotaError(a, priorityClass, ask.Amounts); err != nil {
		return x, err
	}
	created := ask.Created
	if created.IsZero() {
		created = now
	}
	x.Allocation = &Allocation{
		ask: ask, app: a, key: policies.AskKey{Priority: p.effectivePriority(ask), Created: created.UnixNano(), Arrival: p.arrivals + 1},
		shape: &Shape{amounts: ask.Amounts, vector: p.names.Hold(ask.Amounts, resources.Asks), required: ask.RequiredNode},
	}
	x.MustStartFirst, x.names = a.mustStartBefore(ask.Priority), p.names
	return x, nil
}

func (p *Partition) hypotheticalApplication(id AppID, owner HypotheticalOwner, now time.Time) (*Application, error) {
	q, ok := p.queues[owner.Queue]
	switch {
	case owner.User.Name == "" || owner.Queue == "":
		return nil, p.unknownApplication(id) // nobody says whose it would be
	case !ok:
		return nil, fmt.Errorf("%w queue %s", ErrUnknown, owner.Queue)
	case !q.Leaf():
		return nil, fmt.Errorf("queue %s %w", owner.Queue, ErrNotLeaf)
	case q.draining:
		return nil, fmt.Errorf("queue %s %w", owner.Queue, ErrDraining)
	case !q.MaySubmit(owner.User):
		return nil, fmt.Errorf("%s", q.refusal(owner.Queue, owner.User))
	}
	a := &Application{
		id: id, user: owner.User, queue: q, askGroups: newAskGroups(),
		key: policies.AppKey{ID: string(id), Submitted: now.UnixNano()},
	}
	p.hypotheticalMemberships(a)
	return a, nil
}

// hypotheticalMemberships is enroll, but for the accounts: they do not hear of a, and those that are not
// there are imagined too.
func (p *Partition) hypotheticalMemberships(a *Application) {
	group, grouped := a.limitGroup()
	join := func(q *Queue, h UserOrGroup, limit limits.Limit) {
		x := q.accounts[h]
		if x == nil {
			x = &account{queue: q, userOrGroup: h, limit: limit.MaxResources, max: p.names.LimitVector(limit.MaxResources), maxApplications: limit.MaxApplications}
		}
		a.memberships = append(a.memberships, membership{account: x})
	}
	for q := a.queue; q != nil; q = q.parent {
		if limit, ok := limits.ForUser(q.conf.Limits, a.user.Name); ok {
			join(q, UserOrGroup{Name: a.user.Name}, limit)
		}
		if limit, ok := limits.ForGroup(q.conf.Limits, group); ok && grouped {
			join(q, UserOrGroup{Group: true, Name: group}, limit)
		}
	}
}

// mustStartBefore is the application of a StateAware leaf that would have to start before a may be
// given something, if a had one more ask of that priority; nil: none.
func (a *Application) mustStartBefore(priority int32) *Application {
	first := a.queue.starting.lowest()
	if a.queue.policy.sort != policies.StateAware || a.rampedUp || first == nil || first == a {
		return nil
	}
	key, tally := a.key, policies.PriorityCounter{}
	tally.Add(a.priority.Max())
	tally.Add(policies.Pending(priority))
	if key.Priority = tally.Max(); policies.CompareStateAware(&key, &first.key, a.queue.policy.prioritySort) < 0 {
		return nil
	}
	return first
}

// ScanFittingNodes yields the nodes where x could be placed now, in node order. It looks at all of
// them, so it is for who cannot ask the index: an imagined ask.
func (p *Partition) ScanFittingNodes(x *Allocation) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if id := x.shape.required; id != "" {
			if n, ok := p.nodes[id]; ok && n.Fits(x.shape) {
				yield(n)
			}
			return
		}
		for m := range p.schedulableNodes.members {
			if m.item.Fits(x.shape) && !yield(m.item) {
				return
			}
		}
	}
}
