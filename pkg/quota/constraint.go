package quota

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ConstraintKind is the kind of a Constraint.
type ConstraintKind uint8

// The kinds of constraints, in the order of the checks.
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
	kind    ConstraintKind
	queue   *Queue   // which has the max or the limit
	account *Account // of the limit; nil: it is no limit
}

// Constraints are the constraints of an application. Scheduling, the check before a binding, explanations, dry runs and
// preemption examine them; masks hold the same, computed for all shapes at once.
type Constraints struct {
	a *Application
}

// Constraints returns the constraints of a.
func (a *Application) Constraints() Constraints { return Constraints{a} }

// Each yields the constraints by kind, those of a kind from the leaf up. A bound on applications that counts the
// application already is no constraint.
func (c Constraints) Each(yield func(Constraint) bool) {
	if check := c.a.MaxAppsCheck(); check != MaxAppsUnchecked {
		for _, m := range c.a.memberships {
			if m.account.maxApplications > 0 && !yield(Constraint{LimitMaxApplications, m.account.queue, m.account}) {
				return
			}
		}
		for q := c.a.leaf; q != nil && check == MaxAppsQueuesAndLimits; q = q.parent {
			if q.maxApplications > 0 && !yield(Constraint{QueueMaxApplications, q, nil}) {
				return
			}
		}
	}
	for _, m := range c.a.memberships {
		if len(m.account.max) > 0 && !yield(Constraint{LimitMaxResources, m.account.queue, m.account}) {
			return
		}
	}
	for q := c.a.leaf; q != nil; q = q.parent {
		switch {
		case q.parent == nil:
			yield(Constraint{ClusterCapacity, q, nil})
		case len(q.max) > 0 && !yield(Constraint{QueueMaxResources, q, nil}):
			return
		}
	}
}

// onlyCapacity reports whether the capacity of the cluster is the only constraint.
func (c Constraints) onlyCapacity() (root *Queue, only bool) {
	if len(c.a.memberships) > 0 {
		return nil, false
	}
	q := c.a.leaf
	for ; q.parent != nil; q = q.parent {
		if !q.unbounded {
			return nil, false
		}
	}
	return q, q.maxApplications == 0
}

// OnlyCapacity reports whether the capacity of the cluster is the only constraint, now and until the configuration or
// the accounts of the application change.
func (c Constraints) OnlyCapacity() bool {
	_, only := c.onlyCapacity()
	return only
}

// FirstBlocking returns the first constraint that blocks an ask of shape s. ok is false if none does.
func (c Constraints) FirstBlocking(s *feasibility.Shape) (first Constraint, ok bool) {
	if root, only := c.onlyCapacity(); only {
		x := Constraint{ClusterCapacity, root, nil}
		return x, x.Blocks(s)
	}
	for x := range c.Each {
		if x.Blocks(s) {
			return x, true
		}
	}
	return first, false
}

// BlockedWithinCapacity reports whether a constraint other than the capacity of the cluster blocks an ask of shape s.
func (c Constraints) BlockedWithinCapacity(s *feasibility.Shape) bool {
	for x := range c.Each {
		if x.kind != ClusterCapacity && x.Blocks(s) {
			return true
		}
	}
	return false
}

// FirstTooSmall returns the first constraint that an ask of shape s can never meet. ok is false if there is none.
func (c Constraints) FirstTooSmall(s *feasibility.Shape) (first Constraint, ok bool) {
	for x := range c.Each {
		if x.TooSmall(s) {
			return x, true
		}
	}
	return first, false
}

// FirstBlockingStart returns the first constraint that keeps the application from running, whatever it asks for. ok is
// false if there is none.
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

// Kind returns the kind of c.
func (c Constraint) Kind() ConstraintKind { return c.kind }

// Queue returns the queue that has the max or the limit.
func (c Constraint) Queue() *Queue { return c.queue }

// Account returns the account of the limit; nil: c is no limit.
func (c Constraint) Account() *Account { return c.account }

// Counts reports whether a counts among the running applications of c.
func (c Constraint) Counts(a *Application) bool {
	switch c.kind {
	case LimitMaxApplications:
		return a.countedInLimits && a.MemberOf(c.account)
	case QueueMaxApplications:
		return a.countedRunning && c.queue.IsSelfOrAncestorOf(a.leaf)
	}
	return false
}

// Blocks reports whether an ask of shape s is not within c now. s matters to constraints on resources only.
func (c Constraint) Blocks(s *feasibility.Shape) bool {
	switch c.kind {
	case LimitMaxApplications:
		return c.account.AtMaxApplications()
	case QueueMaxApplications:
		return c.queue.AtMaxApplications()
	}
	return !c.allows(c.allocated(), s.Vector())
}

// TooSmall reports whether an ask of shape s exceeds c even with nothing allocated. The capacity of the cluster is not
// examined, and no percent of it: nodes may join.
func (c Constraint) TooSmall(s *feasibility.Shape) bool {
	switch c.kind {
	case LimitMaxResources:
		return !c.account.max.Allows(nil, s.Vector())
	case QueueMaxResources:
		return c.queue.neverAllows(s.Vector())
	}
	return false
}

// neverAllows reports whether v exceeds the max of q in a resource of which that is no percent.
func (q *Queue) neverAllows(v resources.Vector) bool {
	if q.max.Allows(nil, v) {
		return false
	}
	for k, n := range v {
		k := resources.Index(k)
		if most, ok := q.max.At(k); ok && n > max(0, most) && !q.exceedsPercent(k, n) {
			return true
		}
	}
	return false
}

// allows reports whether v is within c in addition to used.
func (c Constraint) allows(used, v resources.Vector) bool {
	if c.account != nil {
		return c.account.max.Allows(used, v)
	}
	return c.queue.Allows(used, v)
}

// allocated returns the resources that count within c now.
func (c Constraint) allocated() resources.Vector {
	if c.account != nil {
		return c.account.allocated
	}
	return c.queue.allocated
}

// bound returns the bound of c on a resource. ok is false if c does not bound it.
func (c Constraint) bound(k resources.Index) (n resources.Quantity, ok bool) {
	switch c.kind {
	case LimitMaxResources:
		return c.account.max.At(k)
	case QueueMaxResources:
		return c.queue.max.At(k)
	case ClusterCapacity:
		return c.queue.capacity.At(k), true
	}
	return 0, false
}

// Availability returns how much of a resource is free within c, negative if more is used than the bound, and the
// bound. ok is false if c does not bound it.
func (c Constraint) Availability(k resources.Index) (free, bound resources.Quantity, ok bool) {
	return c.availabilityAfter(c.allocated(), k)
}

// availabilityAfter returns what Availability would return if used counted within c.
func (c Constraint) availabilityAfter(used resources.Vector, k resources.Index) (free, bound resources.Quantity,
	ok bool) {
	bound, ok = c.bound(k)
	if c.kind == ClusterCapacity {
		return c.queue.freeCapacity(used, k), bound, ok
	}
	return resources.SubSaturated(bound, used.At(k)), bound, ok
}

// Running returns the number of running applications within c, and the bound; zero if c bounds no applications.
func (c Constraint) Running() (running int, bound uint64) {
	switch c.kind {
	case LimitMaxApplications:
		return c.account.running, c.account.maxApplications
	case QueueMaxApplications:
		return c.queue.running, c.queue.maxApplications
	}
	return 0, 0
}

// ReducedBy reports whether the release of an allocation of y frees something within c.
func (c Constraint) ReducedBy(y *Application) bool {
	if c.account != nil {
		return y.MemberOf(c.account)
	}
	return c.queue.IsSelfOrAncestorOf(y.leaf)
}

// ReducedInQueue reports whether the release of any allocation in leaf frees something within c. It is false for a
// limit, which counts by application: see ReducedBy.
func (c Constraint) ReducedInQueue(leaf *Queue) bool {
	return c.account == nil && c.queue.IsSelfOrAncestorOf(leaf)
}

// String names the owner of the bound: "queue root.a", "user ann in queue root.a", "the cluster".
func (c Constraint) String() string {
	switch {
	case c.account != nil:
		return c.account.userOrGroup.String() + " in queue " + c.queue.path
	case c.kind == ClusterCapacity:
		return "the cluster"
	}
	return "queue " + c.queue.path
}
