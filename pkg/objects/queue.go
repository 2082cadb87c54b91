package objects

import (
	"iter"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queue is a node of the queue tree. A leaf holds applications, a parent holds queues (QUE-1).
//
// The fields that decisions read come first, in groups of 64 bytes that are read together (behind 8 bytes that the
// allocator adds): in a large tree a decision spends most of its time on loading them.
type Queue struct {
	parent *Queue
	policy queuePolicy               // what decisions read of conf
	entry  feasibility.Entry[*Queue] // in parent.children

	key        policies.QueueKey // in parent.children
	maskBuffer [shortMask]uint64 // storage of a short mask of entry

	priorities        policies.PriorityCounter // priorities of the children or applications
	shareDenominators resources.Denominators   // for the fair share

	children feasibility.Index[*Queue]       // with something pending, in order
	apps     feasibility.Index[*Application] // with something pending, in order; leaf only

	denominatorBuffer [shortVector]resources.Quantity // storage of few shareDenominators of its own
	path              QueuePath
	changeRecorded    bool          // it is in snapshotChanges.watch
	removed           bool          // was removed from the partition
	managed           bool          // in the configuration, not created by a placement rule
	visitedAt         int32         // in reload.visited, if that has it there
	draining          bool          // removed from the configuration, not empty yet
	drained           bool          // an operator drains it or a queue above (OPS-8)
	listIndex         int32         // in objectLists.queues
	dynamic           *dynamicQueue // nil: it never was dynamic, or that is forgotten (QUE-32)

	quota quota.Queue

	starting       *feasibility.Index[*Application] // those of which only the first may start; nil: not sorted StateAware
	extraResources []resources.Index                // resources in the limits and the child template of conf
	byName         map[string]*Queue                // children; nil: there never was one
	byID           map[AppID]*Application           // leaf only
	conf           configs.Queue                    // without Children

	effective quota.Effective // instead of the max and the guarantee of conf (QUO-65)
}

// queuePolicy is the part of a queue's settings that every decision reads.
type queuePolicy struct {
	leaf         bool
	sort         policies.AppSort
	prioritySort policies.PrioritySort
	overTime     bool // its children are ordered by usage over time; the applications of a leaf have it as sort
	priority     policies.PriorityPolicy
	offset       int32
	mayPreempt   bool // its asks may preempt; leaf only
	stopped      bool // an operator has stopped it or a queue above (OPS-2)
	recovery     bool // it is the recovery queue, in which asks wait until an operator moves their application (PLC-34)
}

// A vector is short up to this many resources, a mask up to this many words.
const (
	shortVector = 4
	shortMask   = 2
)

func newQueue(conf configs.Queue, parent *Queue) *Queue {
	q := &Queue{parent: parent, path: RootPath, byID: map[AppID]*Application{}}
	if parent != nil {
		q.path = parent.path.Child(conf.Name)
	}
	q.key.Path = string(q.path)
	if parent == nil {
		q.quota.Init(string(q.path), nil)
	} else {
		q.quota.Init(string(q.path), &parent.quota)
	}
	q.setConf(&conf)
	q.entry.Mask = q.maskBuffer[:0]
	return q
}

// setConf makes conf the settings of q.
func (q *Queue) setConf(conf *configs.Queue) {
	q.conf = *conf
	q.conf.Children = nil // a queue that stays must not keep the whole tree of an old configuration
	q.policy = queuePolicy{
		leaf: !conf.Parent, sort: conf.AppSort, prioritySort: conf.PrioritySort, priority: conf.PriorityPolicy,
		overTime: conf.Fairness.HalfLife > 0, offset: conf.PriorityOffset, stopped: q.policy.stopped,
		recovery: q.path == placement.RecoveryQueue,
	}
	if q.policy.overTime && conf.AppSort != policies.StateAware {
		q.policy.sort = policies.OverTime
	}
	q.applyOrders()
}

// PrioritySort returns how priority takes part in the order of what is below q.
func (q *Queue) PrioritySort() policies.PrioritySort { return q.policy.prioritySort }

// Path is the path, such as root.a.b (QUE-3).
func (q *Queue) Path() QueuePath { return q.path }

// Name is the last part of the path.
func (q *Queue) Name() string { return q.conf.Name }

// Quota is the quota side of q. Read-only.
func (q *Queue) Quota() *quota.Queue { return &q.quota }

// Parent is the queue above; nil for root.
func (q *Queue) Parent() *Queue { return q.parent }

// IsSelfOrAncestorOf reports whether q is other or one of its ancestors.
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

// Managed reports whether q is in the configuration; otherwise a placement rule created it (QUE-2).
func (q *Queue) Managed() bool { return q.managed }

// Draining reports whether q was removed from the configuration and is not empty yet (QUE-33).
func (q *Queue) Draining() bool { return q.draining }

// Settings are the properties of q, inherited ones included.
func (q *Queue) Settings() configs.Settings { return q.conf.Settings }

// Ageing says how the applications of q rise that wait for their first allocation.
func (q *Queue) Ageing() policies.Ageing { return q.conf.Settings.Ageing }

// Fairness says how usage over time counts directly below q, and what q counts for. Read-only.
func (q *Queue) Fairness() *policies.Fairness { return &q.conf.Settings.Fairness }

// OverTime reports whether usage over time orders the children of q, or its applications (FAI-1).
func (q *Queue) OverTime() bool {
	return q.policy.overTime && !(q.policy.leaf && q.policy.sort == policies.StateAware)
}

// QueueSort is the order of the children of q.
func (q *Queue) QueueSort() policies.QueueSort {
	return policies.QueueSort{Priority: q.policy.prioritySort, OverTime: q.policy.overTime}
}

// SetUsageOverTime sets by what q is compared with its siblings if they are ordered by usage over time (FAI-4). The
// caller has q reindexed.
func SetUsageOverTime(q *Queue, n decay.Number) { q.key.Usage = n }

// ReindexQueue updates the position of q, which is not root, among its siblings.
func ReindexQueue(p *Partition, q *Queue) {
	q.reindexInParent()
	p.journal.post(Change{Kind: QueueChanged, Queue: q})
}

// RunTime bounds how long the allocations of q run. It is read for every placement. Read-only.
func (q *Queue) RunTime() *configs.RunTime { return &q.conf.Settings.RunTime }

// Max is the effective max of q itself; a missing resource is unlimited. Root has none: its max is
// the capacity of the cluster (QUO-4).
func (q *Queue) Max() resources.Limit { return q.effective.Max }

// Guaranteed is the effective guarantee of q.
func (q *Queue) Guaranteed() resources.Guarantee { return q.effective.Guaranteed }

// ConfiguredQuotas returns the max and the guarantee of q as they are written, with percents (QUO-63).
func (q *Queue) ConfiguredQuotas() (resources.Limit, resources.Guarantee) {
	return q.conf.Max, q.conf.Guaranteed
}

// GuaranteeReduced reports whether the effective guarantee of q was scaled down (QUO-66).
func (q *Queue) GuaranteeReduced() bool { return q.effective.Reduced }

// EachChild yields the queues directly below q, in no order.
func (q *Queue) EachChild(yield func(*Queue) bool) {
	for _, c := range q.byName {
		if !yield(c) {
			return
		}
	}
}

// Template is the child template of a dynamic leaf below q (QUE-23); nil: there is none, or q is a
// leaf.
func (q *Queue) Template() *configs.ChildTemplate {
	if q.Leaf() {
		return nil
	}
	return q.template()
}

// MaxApplications returns how many applications may run in and below q; 0: any number (QUO-26).
func (q *Queue) MaxApplications() uint64 { return q.conf.MaxApplications }

// Limits are the limits of users and groups in q, as configured. Read-only.
func (q *Queue) Limits() *limits.Index { return q.quota.Limits() }

// Preempting is the part of Allocated that is marked for preemption and not released, overdue or
// not (QUE-43). The vector is a new one on every call.
func (q *Queue) Preempting() resources.Vector { return q.quota.Preempting() }

// Running returns how many applications in and below q are in state Running (QUE-44).
func (q *Queue) Running() int { return q.quota.Running() }

// Allocated returns what the allocations in and below q use, reported ones included (QUE-42). Read-only.
func (q *Queue) Allocated() resources.Vector { return q.quota.Allocated() }

// Pending returns what the pending asks in and below q request (QUE-41). Read-only.
func (q *Queue) Pending() resources.Vector { return q.quota.Pending() }

// HasPending reports whether an ask in or below q is pending.
func (q *Queue) HasPending() bool { return q.priorities.Max().Pending }

// CurrentPriority is the highest priority of the pending asks below q, after its offset and fence.
// Those of root have no effect (QUE-6).
func (q *Queue) CurrentPriority() policies.CurrentPriority {
	if q.parent == nil {
		return q.priorities.Max()
	}
	return q.policy.priority.ApplyOffset(q.priorities.Max(), q.policy.offset)
}

// Share is the fair share (dominant share) of q, by which siblings are compared (ORD-17).
func (q *Queue) Share() resources.Share {
	return q.shareDenominators.DominantShare(q.quota.Allocated())
}

// HasFeasible reports whether an ask of a shape of f can be placed below q, as far as q and the
// queues below it matter.
func (q *Queue) HasFeasible(f feasibility.Mask) bool { return q.feasibleBelow().Intersects(f) }

// NextChild is the first child below which a shape of f can be placed. Requires: HasFeasible(f).
func (q *Queue) NextChild(f feasibility.Mask) *Queue {
	child, _ := q.children.First(f)
	return child
}

// RestrictToHeadroom removes from f the shapes for which q has no headroom.
func (q *Queue) RestrictToHeadroom(f feasibility.Mask) { q.quota.RestrictToHeadroom(f) }

// NextApplication is the first application that may be allocated a shape of f. Requires:
// HasFeasible(f).
func (q *Queue) NextApplication(f feasibility.Mask) *Application {
	a, _ := q.apps.First(f)
	return a
}

// FeasibleChildren are the children below which a shape of f may be placed, in order.
func (q *Queue) FeasibleChildren(f feasibility.Mask) iter.Seq[*Queue] {
	return q.children.EachIntersecting(f)
}

// FeasibleApplications are the applications that may be allocated a shape of f, in order.
func (q *Queue) FeasibleApplications(f feasibility.Mask) iter.Seq[*Application] {
	return q.apps.EachIntersecting(f)
}

// Children are the queues of a parent in path order, in a new slice.
func (q *Queue) Children() []*Queue {
	out := slices.Collect(maps.Values(q.byName))
	slices.SortFunc(out, func(a, b *Queue) int { return compareNames(a.path, b.path) })
	return out
}

// Applications are the applications of a leaf in ID order, in a new slice.
func (q *Queue) Applications() []*Application {
	out := slices.Collect(maps.Values(q.byID))
	slices.SortFunc(out, func(a, b *Application) int { return compareNames(a.ID(), b.ID()) })
	return out
}

// BoundCount is the number of allocations in and below q.
func (q *Queue) BoundCount() int { return q.quota.BoundCount() }

// EachBound yields the allocations of a leaf, in no order.
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

// queueOf is the queue whose quota side is x; nil: it was removed.
func (p *Partition) queueOf(x *quota.Queue) *Queue {
	if q := p.queues[QueuePath(x.Path())]; q != nil && &q.quota == x {
		return q
	}
	return nil
}

// addChild makes child a child of q.
func (q *Queue) addChild(child *Queue) {
	if q.byName == nil {
		q.byName = map[string]*Queue{}
	}
	q.byName[child.conf.Name] = child
}

// empty reports whether q has no child and no application.
func (q *Queue) empty() bool { return len(q.byName) == 0 && len(q.byID) == 0 }
