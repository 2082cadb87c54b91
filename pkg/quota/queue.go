package quota

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queue is the quota side of a queue: its bounds, and what counts in them.
//
// The fields that decisions read come first, in groups of 64 bytes that are read together.
type Queue struct {
	parent             *Queue
	pending, allocated resources.Vector
	boundCount         int32 // number of allocations of allocated
	unbounded          bool  // not root, no max and no max applications: nothing exceeds its headroom
	enforced           bool  // its max is enforced
	recheckListed      bool  // in Enforcement.toRecheck

	buffers queueBuffers

	maxApplications uint64 // applications that may run; 0: any number
	running         int    // applications in state Running
	max             resources.LimitVector
	fit             feasibility.Mask // shapes within max or, at root, the capacity; unused if unbounded
	fitBuffer       [2]uint64        // storage of a short mask

	guaranteed       resources.LimitVector
	capacity         resources.Vector // of the cluster: the max of root (QUO-4); root only
	deficit          resources.Vector // sum over the nodes of allocated above capacity; root only
	path             string
	releases         *releases                // of allocated: preempting; nil: there never was one
	nominated        resources.Vector         // of pending: nominated for a node
	limits           *limits.Index            // of users and groups
	accounts         map[UserOrGroup]*Account // with a limit in q and an application in or below it; nil: none
	classes          *classQuotas             // nil: none
	violation        *violation               // q is above an enforced max; nil: it is not
	enforcementDelay time.Duration            // from the violation of an enforced max to its enforcement
	percents         []resources.Index        // of max: resources of which it is a percent (QUO-63)
	settledFrom      time.Time                // no enforcement of a max with percents before (QUO-69)

	heldBy             resources.Holder // of the names in max, guaranteed and classes
	maxAppsCounted     bool             // in Tree.maxAppsQueues
	classQuotasCounted bool             // in Tree.classQuotaQueues
}

// queueBuffers stores short vectors in the memory of the queue. Longer ones are allocated elsewhere.
type queueBuffers struct {
	pending, allocated [4]resources.Quantity
}

// releases holds what the preempting allocations of a queue use.
type releases struct {
	expected, overdue resources.Vector
}

// Settings are the quotas of a queue. They are not changed.
type Settings struct {
	Max             resources.Limit     // missing: unlimited
	Guaranteed      resources.Guarantee // missing: no guarantee
	MaxApplications uint64              // 0: any number
	Limits          []limits.Limit
	ClassQuotas     []limits.ClassQuota
}

// Init makes q the quota side of the queue at path, below that of its parent; nil for root.
func (q *Queue) Init(path string, parent *Queue) {
	q.path, q.parent = path, parent
	q.fit, q.pending, q.allocated = q.fitBuffer[:0], q.buffers.pending[:0], q.buffers.allocated[:0]
}

// Names converts vectors to quantities by resource name.
type Names interface {
	Amounts(v resources.Vector) resources.Amounts
}

// HeldNames is the resource names that the settings of a queue hold.
type HeldNames struct {
	max, guaranteed resources.LimitVector
	scopes          scopes
	by              resources.Holder
}

// HeldNames returns the names that the settings of q hold.
func (q *Queue) HeldNames() HeldNames {
	h := HeldNames{max: q.max, guaranteed: q.guaranteed, by: q.heldBy}
	if q.classes != nil {
		h.scopes = q.classes.scopes
	}
	return h
}

// Release reverts the holds of Configure.
func (h HeldNames) Release(names *resources.NameTable) {
	names.ReleaseBound(h.max, h.by)
	names.ReleaseBound(h.guaranteed, h.by)
	h.scopes.release(names, h.by)
}

// Configure applies settings and holds their resource names for by. The caller must release the former names, and fit q
// again. What counts in class quotas stays: if they changed, the caller must post it again.
func (q *Queue) Configure(s *Settings, names *resources.NameTable, by resources.Holder) (former HeldNames) {
	q.maxApplications, q.limits = s.MaxApplications, limits.NewIndex(s.Limits)
	q.unbounded = q.parent != nil && s.Max.IsUnlimited() && s.MaxApplications == 0
	if q.heldBy == by && len(s.ClassQuotas) == 0 && q.classes == nil &&
		names.UpdateQuantities(q.max, s.Max) && names.UpdateQuantities(q.guaranteed, resources.Limit(s.Guaranteed)) {
		return HeldNames{} // the names are held already
	}
	former = q.HeldNames()
	q.heldBy = by
	q.max = names.HoldLimit(s.Max, by)
	q.guaranteed = names.HoldGuarantee(s.Guaranteed, by)
	q.setClassQuotas(s.ClassQuotas, names)
	return former
}

// Effective are the quotas of a queue that follow the nodes (QUO-64). They name the resources of its settings.
type Effective struct {
	Max         resources.Limit
	Guaranteed  resources.Guarantee
	SettledFrom time.Time // no max with percents is enforced before (QUO-69)
	Reduced     bool      // the guarantee was scaled down (QUO-66)
}

// SetPercents records the resources of which the max of q is a percent. Requires: Configure was called with their
// names.
func (q *Queue) SetPercents(max resources.Limit, names *resources.NameTable) {
	q.percents = nil
	for name := range max.Percents() {
		if k, ok := names.Lookup(name); ok {
			q.percents = append(q.percents, k)
		}
	}
}

// HasPercents reports whether the max of q is a percent of a resource.
func (q *Queue) HasPercents() bool { return len(q.percents) > 0 }

// SetEffective puts e in force. The caller must fit q again, and let Enforcement recheck it.
func (q *Queue) SetEffective(e *Effective, names *resources.NameTable) {
	if !names.UpdateQuantities(q.max, e.Max) || !names.UpdateQuantities(q.guaranteed, resources.Limit(e.Guaranteed)) {
		panic("quota: the effective quotas of queue " + q.path + " name other resources than its settings")
	}
	q.settledFrom = e.SettledFrom
}

// SettledFrom returns the time before which no max with percents of q is enforced; zero: at any time.
func (q *Queue) SettledFrom() time.Time { return q.settledFrom }

// exceedsPercent reports whether n alone is more than the max of k, which is a percent: with more nodes it would not
// be.
func (q *Queue) exceedsPercent(k resources.Index, n resources.Quantity) bool {
	most, _ := q.max.At(k)
	return n > most && slices.Contains(q.percents, k)
}

// Limits returns the limits of users and groups in q.
func (q *Queue) Limits() *limits.Index { return q.limits }

// HeldBy says which bound on resource names applies to the settings of q.
func (q *Queue) HeldBy() resources.Holder { return q.heldBy }

// Path returns the path of the queue.
func (q *Queue) Path() string { return q.path }

// IsSelfOrAncestorOf reports whether q is other or one of its ancestors.
func (q *Queue) IsSelfOrAncestorOf(other *Queue) bool {
	for ; other != nil; other = other.parent {
		if other == q {
			return true
		}
	}
	return false
}

// Allocated returns what the allocations in and below q use, reported ones included (QUE-42). Read-only.
func (q *Queue) Allocated() resources.Vector { return q.allocated }

// Pending returns what the pending asks in and below q request (QUE-41). Read-only.
func (q *Queue) Pending() resources.Vector { return q.pending }

// Nominated returns the part of Pending that is nominated for a node. Read-only.
func (q *Queue) Nominated() resources.Vector { return q.nominated }

// ExpectedRelease returns the part of Allocated that is marked for preemption and not overdue. Read-only.
func (q *Queue) ExpectedRelease() resources.Vector {
	if q.releases == nil {
		return nil
	}
	return q.releases.expected
}

// OverdueRelease returns the part of Allocated that is marked for preemption and overdue. Read-only.
func (q *Queue) OverdueRelease() resources.Vector {
	if q.releases == nil {
		return nil
	}
	return q.releases.overdue
}

// BoundCount returns the number of allocations in and below q.
func (q *Queue) BoundCount() int { return int(q.boundCount) }

// Running returns how many applications in and below q are in state Running (QUE-44).
func (q *Queue) Running() int { return q.running }

// Max returns the max of q itself, without that of the queues above. Root has none: its max is Capacity. Read-only.
func (q *Queue) Max() resources.LimitVector { return q.max }

// Guaranteed returns the guarantee of q. Read-only.
func (q *Queue) Guaranteed() resources.LimitVector { return q.guaranteed }

// MaxApplications returns how many applications may run in and below q; 0: any number (QUO-26).
func (q *Queue) MaxApplications() uint64 { return q.maxApplications }

// Capacity returns the sum of all nodes, schedulable or not, if q is root (QUO-5). Read-only.
func (q *Queue) Capacity() resources.Vector { return q.capacity }

// Deficit returns, for each resource, the sum over the nodes of what their allocations exceed their capacity by. It is
// not usage of the capacity: what one node lacks, the others have (QUO-4). Foreign allocations have no part in it. Root
// only. Read-only.
func (q *Queue) Deficit() resources.Vector { return q.deficit }

// freeCapacity returns how much of k the nodes have free when used is allocated; root only.
func (q *Queue) freeCapacity(used resources.Vector, k resources.Index) resources.Quantity {
	return resources.SubSaturated(q.capacity.At(k), resources.SubSaturated(used.At(k), q.deficit.At(k)))
}
