package objects

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// AddApplication adds an application to an existing leaf that is not draining (APP-27).
func (p *Partition) AddApplication(id AppID, user security.User, leaf QueuePath, tags map[string]string,
	now time.Time) error {
	if _, ok := p.apps[id]; ok {
		return fmt.Errorf("application %s %w", id, ErrExists)
	}
	q, ok := p.queues[leaf]
	switch {
	case !ok:
		return fmt.Errorf("%w queue %s", ErrUnknown, leaf)
	case !q.Leaf():
		return fmt.Errorf("queue %s %w", leaf, ErrNotLeaf)
	case q.draining && !q.Recovery():
		return fmt.Errorf("queue %s %w", leaf, ErrDraining)
	}
	a := &Application{
		tags: tags, queue: q, askGroups: newAskGroups(), extra: &noAppExtra,
		key: policies.AppKey{ID: string(id), Submitted: now.UnixNano()},
	}
	a.quota.Init(user, &q.quota, a)
	a.entry.Mask = a.buffers.mask[:0]
	a.pending, a.allocated, a.peak = a.buffers.pending[:0], a.buffers.allocated[:0], a.buffers.peak[:0]
	p.apps[id] = a
	p.lists.apps.add(a)
	q.byID[id] = a
	if p.deadlines.lifetimes.New > 0 {
		a.setDeadline(&p.deadlines.newApps, now)
	}
	p.journal.post(Change{Kind: ApplicationAdded, App: a})
	p.joinAccounts(a)
	return nil
}

// RemoveApplication removes an application with its asks (cancelled) and allocations (freed), each
// returned in key order (APP-33). One that never had an ask is forgotten (APP-34), any other is
// Completed, or Failed if it was Failing. ok is false if there is no such application.
func (p *Partition) RemoveApplication(id AppID, now time.Time) (freed, cancelled []*Allocation, ok bool) {
	a, ok := p.apps[id]
	if !ok {
		return nil, nil, false
	}
	p.Gangs().UnlinkAll(a)
	for _, x := range a.Allocations() {
		if x.Pending() {
			cancelled = append(cancelled, x)
			continue
		}
		x.recordUsage(p.Preempting(x), now)
		p.removeAllocation(x)
		freed = append(freed, x)
	}
	removeAsks(p, cancelled)
	if a.state == lifecycle.New {
		p.forgetApplication(a)
	} else {
		p.complete(a, lifecycle.ReasonRemoved, now)
	}
	return freed, cancelled, true
}

// AddAsk adds a pending ask of no priority class. Requires: the key is unknown.
func (p *Partition) AddAsk(ask *Ask, now time.Time) (*Allocation, error) {
	return p.AddAskWithClass("", ask, now)
}

// AddAskWithClass adds a pending ask of a priority class (empty: none) if the class quotas allow
// it. Requires: the key is unknown.
func (p *Partition) AddAskWithClass(priorityClass string, ask *Ask, now time.Time) (*Allocation, error) {
	x, err := p.admit(ask, resources.Asks, now)
	if err != nil {
		return nil, err
	}
	if err := p.checkClassQuotas(x.app, priorityClass, ask.Amounts); err != nil {
		return nil, err
	}
	x.key.ClassID = p.classNumbers.acquire(priorityClass)
	a := x.app
	p.register(x)
	p.Gangs().added(x, now)
	a.queue.quota.PostPending(x.shape.Vector(), 1)
	p.reindex(a)
	p.onAskAdded(a, now)
	return x, nil
}

// AddReported is AddReportedWithClass for an allocation of no priority class.
func (p *Partition) AddReported(ask *Ask, on NodeID, now time.Time) (*Allocation, error) {
	return p.AddReportedWithClass("", ask, on, now)
}

// AddReportedWithClass records an allocation of a priority class that the RM reports, such as one
// that ran before this process started. No quota or limit is checked (QUO-8, LIM-13). An orphaned allocation becomes
// one of its application (ASK-67). Requires: the key is unknown.
func (p *Partition) AddReportedWithClass(priorityClass string, ask *Ask, on NodeID, now time.Time) (*Allocation,
	error) {
	n, ok := p.nodes[on]
	if !ok {
		return nil, fmt.Errorf("%w node %s", ErrUnknown, on)
	}
	x, err := p.admit(ask, resources.Cluster, now) // it runs whatever its names
	if err != nil {
		return nil, err
	}
	if p.foreign.isOrphan(ask) {
		p.RemoveForeign(ask.Key)
	}
	x.key.ClassID = p.classNumbers.acquire(priorityClass)
	p.register(x)
	p.Gangs().added(x, now)
	x.app.queue.quota.PostPending(x.shape.Vector(), 1)
	p.onAskAdded(x.app, now)
	p.notePlacedResources(x.shape)
	p.bindToNode(x, n, now)
	x.boundAt = min(x.boundAt, x.key.Created) // it has been running for an unknown time
	p.reindex(x.app)
	return x, nil
}

// Cancel removes a pending ask. ok is false if key has none.
func (p *Partition) Cancel(key AllocationKey, now time.Time) (x *Allocation, ok bool) {
	x, ok = p.allocations[key]
	if !ok || !x.Pending() {
		return nil, false
	}
	p.removeAsk(x)
	p.onAllocationRemoved(x.app, false, now)
	return x, true
}

func (p *Partition) removeAsk(x *Allocation) {
	a := x.app
	p.ClearNomination(x)
	p.Reservations().Clear(x, ReservationCancelled)
	p.Gangs().unlink(x)
	p.removePending(x)
	a.queue.quota.PostPending(x.shape.Vector(), -1)
	p.unregister(x)
	p.reindex(a)
}

// admit validates ask and returns an Allocation for it that is not registered yet. by says which
// bound on resource names applies.
func (p *Partition) admit(ask *Ask, by resources.Holder, now time.Time) (*Allocation, error) {
	a, ok := p.apps[ask.App]
	if !ok {
		return nil, p.unknownApplication(ask.App)
	}
	if a.cancelled {
		return nil, fmt.Errorf("application %s %w", ask.App, ErrCancelled)
	}
	if a.state == lifecycle.Failing {
		return nil, fmt.Errorf("application %s %w", ask.App, ErrFailing)
	}
	if ask.Placeholder && a.gang != nil && a.gang.Virtual() {
		return nil, fmt.Errorf("application %s %w", ask.App, ErrVirtualPlaceholders)
	}
	if ask.TaskGroup() != "" && ask.Affinity().MayBeRefused() && a.gang != nil && a.gang.Virtual() {
		return nil, fmt.Errorf("task group %s of application %s %w", ask.TaskGroup(), ask.App, ErrMemberConstraints)
	}
	if x, ok := p.allocations[ask.Key]; ok {
		return nil, fmt.Errorf("key %s of application %s %w", ask.Key, x.ask.App, ErrExists)
	}
	if _, ok := p.foreign.byKey[ask.Key]; ok && (by == resources.Asks || !p.foreign.isOrphan(ask)) {
		return nil, p.foreign.keyError(ask.Key)
	}
	if err := checkQuantities(p.names, ask.Amounts, by); err != nil {
		return nil, err
	}
	if p.overflows(ask.Amounts) {
		return nil, ErrOverflow
	}
	created := ask.Created.Time()
	if created.IsZero() {
		created = now
	}
	p.arrivals++
	key := policies.AskKey{Priority: ask.effectivePriority(p.conf.PriorityDisabled), Created: created.UnixNano(),
		Arrival: p.arrivals}
	return &Allocation{ask: ask, app: a, key: key}, nil
}

// effectivePriority is the priority of an ask in the order of its application: 0 if priority is
// disabled (PRI-21).
func (ask *Ask) effectivePriority(priorityDisabled bool) int32 {
	if priorityDisabled {
		return 0
	}
	return ask.Priority
}

// unknownApplication is the error for an ID without an application; it names the former one
// (APP-43).
func (p *Partition) unknownApplication(id AppID) error {
	for _, h := range []*lifecycle.History{&p.deadlines.completed, &p.deadlines.rejected} {
		if e := h.Last(string(id)); e != nil {
			return fmt.Errorf("%w application %s: it was %s at %s", ErrUnknown, id, e.State,
				e.Finished.UTC().Format(time.RFC3339))
		}
	}
	return fmt.Errorf("%w application %s", ErrUnknown, id)
}
