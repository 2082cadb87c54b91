package objects

import (
	"fmt"
	"iter"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// HypotheticalAsk is an ask for a dry run. The partition does not refer to it, so nothing has to be
// reverted. It has no slot, so masks cannot be used for it.
type HypotheticalAsk struct {
	*Allocation
	MustStartFirst *Application // starting application that goes before it in a StateAware leaf; nil: none
	names          *resources.NameTable
}

// Amounts converts a vector to quantities by resource name, also of names that only the ask has.
func (x *HypotheticalAsk) Amounts(v resources.Vector) resources.Amounts { return x.names.Amounts(v) }

// HypotheticalOwner is the user and the leaf of a hypothetical ask whose application does not
// exist.
type HypotheticalOwner struct {
	User  security.User
	Queue QueuePath // a leaf
}

// NewHypotheticalAsk makes an ask of a priority class, of an existing application or of a
// hypothetical one of owner. The error is that with which the ask, or the application, would be
// rejected (PRE-116). The partition does not change.
func (p *Partition) NewHypotheticalAsk(priorityClass string, ask *Ask, owner HypotheticalOwner,
	now time.Time) (x HypotheticalAsk, err error) {
	names := p.names
	p.names = names.Clone() // names of the ask alone get no index in p.names
	defer func() { p.names = names }()
	a, ok := p.apps[ask.App]
	if !ok {
		if a, err = p.hypotheticalApplication(ask.App, owner, now); err != nil {
			return x, err
		}
	}
	if err := checkQuantities(p.names, ask.Amounts, resources.Asks); err != nil {
		return x, err
	}
	if p.overflows(ask.Amounts) {
		return x, ErrOverflow
	}
	if err := p.checkClassQuotas(a, priorityClass, ask.Amounts); err != nil {
		return x, err
	}
	created := ask.Created.Time()
	if created.IsZero() {
		created = now
	}
	x.Allocation = &Allocation{
		ask: ask, app: a,
		key: policies.AskKey{Priority: ask.effectivePriority(p.conf.PriorityDisabled), Created: created.UnixNano(),
			Arrival: p.arrivals + 1},
		shape: feasibility.NewShape(ask.Request(), p.names.Hold(ask.Amounts, resources.Asks)),
	}
	x.MustStartFirst, x.names = a.mustStartBefore(ask.Priority), p.names
	return x, nil
}

func (p *Partition) hypotheticalApplication(id AppID, owner HypotheticalOwner, now time.Time) (*Application, error) {
	q, ok := p.queues[owner.Queue]
	switch {
	case owner.User.Name == "" || owner.Queue == "":
		return nil, p.unknownApplication(id) // there is no owner for a hypothetical application
	case !ok:
		return nil, fmt.Errorf("%w queue %s", ErrUnknown, owner.Queue)
	case !q.Leaf():
		return nil, fmt.Errorf("queue %s %w", owner.Queue, ErrNotLeaf)
	case q.draining:
		return nil, fmt.Errorf("queue %s %w", owner.Queue, ErrDraining)
	case q.drained:
		return nil, fmt.Errorf("queue %s %w", owner.Queue, ErrDrained)
	case !q.MaySubmit(owner.User):
		return nil, fmt.Errorf("%s", q.refusal(owner.Queue, owner.User))
	}
	a := &Application{
		queue: q, askGroups: newAskGroups(), extra: &noAppExtra,
		key: policies.AppKey{ID: string(id), Submitted: now.UnixNano()},
	}
	a.quota.Init(owner.User, &q.quota, a)
	a.quota.JoinHypothetically(p.names)
	return a, nil
}

// mustStartBefore is the starting application of a StateAware leaf that goes before a, if a had one
// more ask of that priority; nil: none (ORD-55).
func (a *Application) mustStartBefore(priority int32) *Application {
	first := a.queue.FirstStarting()
	if a.queue.policy.sort != policies.StateAware || a.rampedUp || first == nil || first == a {
		return nil
	}
	key, priorities := a.key, policies.PriorityCounter{}
	priorities.Add(a.priority.Max())
	priorities.Add(policies.Pending(priority))
	key.Priority = priorities.Max().Raised(a.Aged())
	if policies.CompareStateAware(&key, &first.key, a.queue.policy.prioritySort) < 0 {
		return nil
	}
	return first
}

// ScanFittingNodes yields the nodes that x fits now, in node order. It looks at all nodes, for
// hypothetical asks, which have no slot in the index.
func (p *Partition) ScanFittingNodes(x *Allocation) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if id := x.shape.RequiredNode(); id != "" {
			if n, ok := p.nodes[NodeID(id)]; ok && n.Fits(x.shape) {
				yield(n)
			}
			return
		}
		for n := range p.EachInOrder {
			if n.Fits(x.shape) && !yield(n) {
				return
			}
		}
	}
}
