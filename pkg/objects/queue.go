package objects

import (
	"iter"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queue is a place in the hierarchy. A leaf holds applications, a parent holds queues.
//
// What decisions touch comes first and lies together: in a large tree most of the time
// goes into fetching it.
type Queue struct {
	parent *Queue
	key    policies.QueueKey        // as it stands in parent.children
	entry  entry[*Queue]            // in parent.children
	policy queuePolicy              // what conf says about orders
	tally  policies.PriorityCounter // priorities shown by what is directly below
	apps   index[*Application]      // those with something pending, in turn; leaf only

	pending, allocated resources.Vector
	boundCount         int                    // how many allocations hold that
	max                resources.LimitVector  // conf.Max
	shareDenominators  resources.Denominators // what allocated is measured against
	fit                Mask                   // the shapes that max, or at root the cluster, leaves room for; unused when roomy
	buffers            queueBuffers

	children   index[*Queue]         // those with something pending, in turn
	starting   index[*Application]   // those of which only the first may start; StateAware leaf only
	guaranteed resources.LimitVector // conf.Guaranteed

	path               QueuePath
	expectedRelease    resources.Vector             // of allocated: was told to leave, and is not overdue
	overdueRelease     resources.Vector             // likewise, and is
	nominated          resources.Vector             // of pending: is nominated for a node
	running            int                          // applications in state Running
	scopes             []scope                      // conf.ClassQuotas
	classUsage         map[classUsageID]*classUsage // of the quotas in which something counts; nil: none
	accounts           map[UserOrGroup]*account     // of those who are limited in q and have an application there; nil: none
	violation          *violation                   // its max is enforced, and it holds more; nil: not so
	changeRecorded     bool                         // it is in Partition.watch
	listIndex          int32                        // in Partition.queueList
	recheckListed      bool                         // stands in Partition.toRecheck
	removed            bool                         // was removed from the partition
	namesHeldBy        resources.Holder             // of the names in max, guaranteed, scopes and further
	extraKinds         []resources.Index            // names in the limits and the template of conf
	managed            bool                         // from the configuration, not created by a placement rule
	draining           bool                         // gone from the configuration, kept while it holds something
	formerDynamic      *configs.Queue               // what q was before the configuration named it; nil: always managed, or not at all
	byName             map[string]*Queue            // children
	byID               map[AppID]*Application       // leaf only
	conf               configs.Queue                // without Children
	maxAppsCounted     bool                         // it counts in Partition.maxAppsQueues
	classQuotasCounted bool                         // it counts in Partition.classQuotaQueues
}

// queuePolicy is the part of a queue's configuration that every decision reads.
type queuePolicy struct {
	leaf            bool
	unbounded       bool   // there is nothing that it could have no room for: no max, any number of applications, not root
	maxApplications uint64 // applications that may run; 0: any number
	sort            policies.AppSort
	prioritySort    policies.PrioritySort
	priority        policies.PriorityPolicy
	offset          int32
	mayPreempt      bool // its asks may have a right to preempt; leaf only
	maxEnforced     bool // should it be managed, its max is enforced
}

// queueBuffers holds the vectors and masks of a queue while they are short, so that they lie
// with it. Longer ones move out by themselves.
type queueBuffers struct {
	pending, allocated [shortVector]resources.Quantity
	fit, mask          [shortMask]uint64
}

// A vector is short up to this many resources, a mask up to this many words.
const (
	shortVector = 4
	shortMask   = 2
)

func newQueue(conf configs.Queue, parent *Queue) *Queue {
	q := &Queue{parent: parent, path: RootPath, byName: map[string]*Queue{}, byID: map[AppID]*Application{}}
	if parent != nil {
		q.path = parent.path.Child(conf.Name)
	}
	q.key.Path = string(q.path)
	q.setConf(&conf)
	q.entry.item, q.entry.mask, q.fit = q, q.buffers.mask[:0], q.buffers.fit[:0]
	q.pending, q.allocated = q.buffers.pending[:0], q.buffers.allocated[:0]
	q.children.compare = func(a, b *Queue) int {
		return policies.CompareQueues(&a.key, &b.key, q.policy.prioritySort)
	}
	q.apps.compare = func(a, b *Application) int {
		return q.policy.sort.CompareApps(&a.key, &b.key, q.policy.prioritySort)
	}
	q.starting.compare = func(a, b *Application) int {
		return policies.CompareStateAware(&a.key, &b.key, q.policy.prioritySort)
	}
	return q
}

// setConf makes conf what q goes by.
func (q *Queue) setConf(conf *configs.Queue) {
	q.conf = *conf
	q.conf.Children = nil // else a queue that stays would keep the whole tree of an old configuration
	q.policy = queuePolicy{
		leaf: !conf.Parent, unbounded: q.parent != nil && conf.Max.IsUnlimited() && conf.MaxApplications == 0, maxApplications: conf.MaxApplications,
		sort: conf.AppSort, prioritySort: conf.PrioritySort, priority: conf.PriorityPolicy, offset: conf.PriorityOffset,
	}
}

// PrioritySort is how priority takes part in the order of what is below q.
func (q *Queue) PrioritySort() policies.PrioritySort { return q.policy.prioritySort }

// Path is the full name, root.a.b.
func (q *Queue) Path() QueuePath { return q.path }

// Parent is the queue above, nil for root.
func (q *Queue) Parent() *Queue { return q.parent }

// IsSelfOrAncestorOf reports whether q is other, or one of its ancestors.
func (q *Queue) IsSelfOrAncestorOf(other *Queue) bool {
	for ; other != nil; other = other.parent {
		if other == q {
			return true
		}
	}
	return false
}

// Leaf reports whether q holds applications.
func (q *Queue) Leaf() bool { return q.policy.leaf }

// Managed reports whether q is in the configuration; else a placement rule created it.
func (q *Queue) Managed() bool { return q.managed }

// Draining reports whether q has left the configuration and waits to be empty.
func (q *Queue) Draining() bool { return q.draining }

// Settings are the properties of q.
func (q *Queue) Settings() configs.Settings { return q.conf.Settings }

// Max is the configured ceiling of q alone; missing means unlimited. Root has none of
// its own: its ceiling is the capacity of the cluster.
func (q *Queue) Max() resources.Limit { return q.conf.Max }

// Guaranteed is what q is promised.
func (q *Queue) Guaranteed() resources.Guarantee { return q.conf.Guaranteed }

// Template is what a dynamic leaf below q gets; nil: nothing.
func (q *Queue) Template() *configs.ChildTemplate {
	if q.Leaf() {
		return nil
	}
	return q.template()
}

// MaxApplications is how many applications may run in q; 0 means any number.
func (q *Queue) MaxApplications() uint64 { return q.conf.MaxApplications }

// Limits are the limits of users and groups in q, as configured. Read-only.
func (q *Queue) Limits() []limits.Limit { return q.conf.Limits }

// Preempting is what of Allocated is marked for preemption and has not been released, overdue or
// not. It is made on every call.
func (q *Queue) Preempting() (v resources.Vector) {
	v.Add(q.expectedRelease)
	v.Add(q.overdueRelease)
	return v
}

// Running is how many applications run in q and below.
func (q *Queue) Running() int { return q.running }

// Allocated is what the work below q holds, whoever placed it. Read-only.
func (q *Queue) Allocated() resources.Vector { return q.allocated }

// Pending is what the work below q still asks for. Read-only.
func (q *Queue) Pending() resources.Vector { return q.pending }

// HasPending reports whether anything below q is pending.
func (q *Queue) HasPending() bool { return q.tally.Max().Pending }

// CurrentPriority is the priority q shows its parent: the highest of its asks, with
// its offset and fence applied (seed 004). On root neither has an effect.
func (q *Queue) CurrentPriority() policies.CurrentPriority {
	if q.parent == nil {
		return q.tally.Max()
	}
	return q.policy.priority.ApplyOffset(q.tally.Max(), q.policy.offset)
}

// Share is how well q is served, as its siblings are compared (behaviour.md 3.10).
func (q *Queue) Share() resources.Share { return q.shareDenominators.DominantShare(q.allocated) }

// HasFeasible reports whether something below q can be placed, as far as the shapes of f go.
func (q *Queue) HasFeasible(f Mask) bool { return q.feasibleBelow().intersects(f) }

// NextChild is the child whose turn it is among those where something of f can be placed.
// Requires: Possible(f).
func (q *Queue) NextChild(f Mask) *Queue {
	child, _ := q.children.first(f)
	return child
}

// RestrictToHeadroom takes out of f the shapes that q has no headroom for.
func (q *Queue) RestrictToHeadroom(f Mask) {
	if !q.policy.unbounded {
		f.intersectWith(q.fit)
	}
}

// NextApplication is the application whose turn it is among those that may be given
// something of f. Requires: Possible(f).
func (q *Queue) NextApplication(f Mask) *Application {
	a, _ := q.apps.first(f)
	return a
}

// FeasibleChildren are the children below which something of f may be placed, in turn.
func (q *Queue) FeasibleChildren(f Mask) iter.Seq[*Queue] { return q.children.eachIntersecting(f) }

// FeasibleApplications are the applications that may be given something of f, in turn.
func (q *Queue) FeasibleApplications(f Mask) iter.Seq[*Application] {
	return q.apps.eachIntersecting(f)
}

// FirstStarting is the only application of a StateAware leaf that may be given something
// although it has not ramped up; nil when there is none.
func (q *Queue) FirstStarting() *Application {
	return q.starting.lowest()
}

// Children are the queues of a parent in path order. It is made on every call.
func (q *Queue) Children() []*Queue {
	out := slices.Collect(maps.Values(q.byName))
	slices.SortFunc(out, func(a, b *Queue) int { return compareNames(a.path, b.path) })
	return out
}

// Applications are the applications of a leaf in ID order. It is made on every call.
func (q *Queue) Applications() []*Application {
	out := slices.Collect(maps.Values(q.byID))
	slices.SortFunc(out, func(a, b *Application) int { return compareNames(a.id, b.id) })
	return out
}

// BoundCount is how many allocations there are in q and below it.
func (q *Queue) BoundCount() int { return q.boundCount }

// ApplicationCount is how many applications a leaf has.
func (q *Queue) ApplicationCount() int { return len(q.byID) }

// EachBound yields the allocations in a leaf, in no order.
func (q *Queue) EachBound(yield func(*Allocation) bool) {
	for _, a := range q.byID {
		for x := range a.EachBound {
			if !yield(x) {
				return
			}
		}
	}
}

func compareNames[S ~string](a, b S) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// empty reports whether nothing is left in q.
func (q *Queue) empty() bool { return len(q.byName) == 0 && len(q.byID) == 0 }
