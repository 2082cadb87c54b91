package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ConstraintKind is the kind of a Constraint.
type ConstraintKind uint8

// The kinds of constraints, in the order in which they are examined.
const (
	LimitMaxApplications ConstraintKind = iota // maxapplications of a limit of a user or group (LIM-17)
	QueueMaxApplications                       // maxapplications of a queue (QUO-26)
	LimitMaxResources                          // maxresources of a limit of a user or group (LIM-11)
	QueueMaxResources                          // max of a queue (QUO-1)
	ClusterCapacity                            // the capacity of the cluster, which is the max of root (QUO-4)
)

// AboutApplications reports whether constraints of this kind bound a number of applications, and not resources.
func (k ConstraintKind) AboutApplications() bool { return k <= QueueMaxApplications }

// Constraint is one bound on what an application may be allocated. It reads the state at each call, and is
// valid until the configuration changes.
type Constraint struct {
	kind     ConstraintKind
	queue    *Queue           // which has the max or the limit
	account  *account         // of the limit; nil: it is no limit
	capacity resources.Vector // of ClusterCapacity
}

// Constraints are the constraints of an application.
type Constraints struct {
	p *Partition
	a *Application
}

// ConstraintsOf returns the constraints of a. They are what scheduling, the check before a binding,
// explanations, dry runs and preemption examine; masks have the same, computed for all shapes at once.
func (p *Partition) ConstraintsOf(a *Application) Constraints { return Constraints{p, a} }

// Each yields the constraints by kind, those of a kind from the leaf up. Maxapplications that count the
// application already are none.
func (c Constraints) Each(yield func(Constraint) bool) {
	if check := c.a.maxAppsCheck(); check != quota.MaxAppsUnchecked {
		for _, m := range c.a.memberships {
			if m.account.maxApplications > 0 && !yield(Constraint{kind: LimitMaxApplications, queue: m.account.queue, account: m.account}) {
				return
			}
		}
		for q := c.a.queue; q != nil && check == quota.MaxAppsQueuesAndLimits; q = q.parent {
			if q.quota.MaxApplications() > 0 && !yield(Constraint{kind: QueueMaxApplications, queue: q}) {
				return
			}
		}
	}
	for _, m := range c.a.memberships {
		if len(m.account.max) > 0 && !yield(Constraint{kind: LimitMaxResources, queue: m.account.queue, account: m.account}) {
			return
		}
	}
	for q := c.a.queue; q != nil; q = q.parent {
		if (len(q.quota.Max()) > 0 || q.parent == nil) && !yield(c.p.maxOf(q)) {
			return
		}
	}
}

// maxOf is the constraint of q on resources.
func (p *Partition) maxOf(q *Queue) Constraint {
	if q.parent == nil {
		return Constraint{kind: ClusterCapacity, queue: q, capacity: p.Capacity()}
	}
	return Constraint{kind: QueueMaxResources, queue: q}
}

// FirstBlocking is the first constraint that blocks an ask of shape s. ok is false if none does.
func (c Constraints) FirstBlocking(s *feasibility.Shape) (first Constraint, ok bool) {
	for x := range c.Each {
		if x.Blocks(s) {
			return x, true
		}
	}
	return first, false
}

// FirstTooSmall is the first constraint within which an ask of shape s can never be. ok is false if there is
// none.
func (c Constraints) FirstTooSmall(s *feasibility.Shape) (first Constraint, ok bool) {
	for x := range c.Each {
		if x.TooSmall(s) {
			return x, true
		}
	}
	return first, false
}

// FirstBlockingStart is the first constraint because of which the application may not run, whatever it asks
// for. ok is false if there is none.
func (c Constraints) FirstBlockingStart() (first Constraint, ok bool) {
	for x := range c.Each {
		if !x.kind.AboutApplications() {
			break
		}
		if x.Blocks(nil) {
			return x, true
		}
	}
	return first, false
}

// Kind is the kind of c.
func (c Constraint) Kind() ConstraintKind { return c.kind }

// Queue is the queue that has the max or the limit.
func (c Constraint) Queue() *Queue { return c.queue }

// Blocks reports whether an ask of shape s is not within c now. s matters to constraints on resources only.
func (c Constraint) Blocks(s *feasibility.Shape) bool {
	switch c.kind {
	case LimitMaxApplications:
		return c.account.atMaxApplications()
	case QueueMaxApplications:
		return c.queue.quota.AtMaxApplications()
	}
	return !c.allows(c.allocated(), s.Vector())
}

// TooSmall reports whether an ask of shape s is not within c even with nothing allocated. The capacity of
// the cluster is not examined: nodes may join.
func (c Constraint) TooSmall(s *feasibility.Shape) bool {
	switch c.kind {
	case LimitMaxResources:
		return !c.account.max.Allows(nil, s.Vector())
	case QueueMaxResources:
		return !c.queue.quota.Max().Allows(nil, s.Vector())
	}
	return false
}

// allows reports whether v is within c beside what is used.
func (c Constraint) allows(used, v resources.Vector) bool {
	switch c.kind {
	case LimitMaxResources:
		return c.account.max.Allows(used, v)
	case QueueMaxResources:
		return c.queue.quota.Max().Allows(used, v)
	}
	return c.capacity.CoversAfter(used, v)
}

// allocated is what counts within c now.
func (c Constraint) allocated() resources.Vector {
	if c.account != nil {
		return c.account.allocated
	}
	return c.queue.Allocated()
}

// Availability is how much of a resource is free within c, negative if more is used than the bound, and the
// bound. ok is false if c does not bound it.
func (c Constraint) Availability(k resources.Index) (free, bound resources.Quantity, ok bool) {
	switch c.kind {
	case LimitMaxResources:
		bound, ok = c.account.max.At(k)
	case QueueMaxResources:
		bound, ok = c.queue.quota.Max().At(k)
	case ClusterCapacity:
		bound, ok = c.capacity.At(k), true
	}
	return resources.SubSaturated(bound, c.allocated().At(k)), bound, ok
}

// Running is the number of running applications within c, and the bound; zero if c bounds no applications.
func (c Constraint) Running() (running int, bound uint64) {
	switch c.kind {
	case LimitMaxApplications:
		return c.account.running, c.account.maxApplications
	case QueueMaxApplications:
		return c.queue.Running(), c.queue.MaxApplications()
	}
	return 0, 0
}

// ReducedBy reports whether the release of y frees something within c.
func (c Constraint) ReducedBy(y *Allocation) bool {
	if c.account != nil {
		return y.app.memberOf(c.account)
	}
	return c.queue.IsSelfOrAncestorOf(y.app.queue)
}

// ReducedInQueue reports whether the release of any allocation in leaf frees something within c. It is false for a
// limit, which counts by application: see ReducedBy.
func (c Constraint) ReducedInQueue(leaf *Queue) bool {
	return c.account == nil && c.queue.IsSelfOrAncestorOf(leaf)
}

// String names what has the bound: "queue root.a", "user ann in queue root.a", "the cluster".
func (c Constraint) String() string {
	switch {
	case c.account != nil:
		return c.account.userOrGroup.String() + " in queue " + string(c.queue.path)
	case c.kind == ClusterCapacity:
		return "the cluster"
	}
	return "queue " + string(c.queue.path)
}
