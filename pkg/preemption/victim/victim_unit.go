package victim

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// victimUnit is preempted together or not at all: an allocation, or a victim group, on whatever nodes its
// members run (PRE-50).
type victimUnit struct {
	first          *objects.Allocation    // the member with the smallest key
	single         [1]*objects.Allocation // first, as members of a unit without a group
	group          []*objects.Allocation  // in key order; nil: first alone
	priority       int32                  // of a group the highest of its members (PRE-51)
	optedOut       bool                   // a member has no allowPreemptSelf
	originator     bool                   // a member is an originator
	requiresNode   bool                   // a member has a required node
	startedAt      int64                  // start of the oldest member, in nanoseconds
	qos            priorities.QoS         // the highest of its members, if preemption.victim.qos is enabled
	violatesBudget bool                   // it would be beyond a disruption budget
	young          bool                   // it has run for less than its minimum run time; set by candidateOf
}

// PreemptedAsUnit reports whether x is preempted together with others: preemption.victim.unit of its leaf is
// application, or it is taskgroup and x has a task group (PRE-50).
func PreemptedAsUnit(x *objects.Allocation) bool {
	switch x.Application().Queue().VictimUnit() {
	case policies.VictimUnitApplication:
		return true
	case policies.VictimUnitTaskGroup:
		return x.Ask().TaskGroup() != ""
	}
	return false
}

// SameUnit reports whether x and y are preempted together. Requires: PreemptedAsUnit(x).
func SameUnit(x, y *objects.Allocation) bool {
	a := x.Application()
	return a == y.Application() &&
		(a.Queue().VictimUnit() == policies.VictimUnitApplication || x.Ask().TaskGroup() == y.Ask().TaskGroup())
}

// Unit returns x and the allocations that are preempted with it, without preempting ones and placeholders that end
// already, in key order.
func Unit(p *objects.Partition, x *objects.Allocation) (all []*objects.Allocation) {
	for y := range x.Application().EachBound {
		if SameUnit(x, y) && !p.Preempting(y) && !objects.Ending(p, y) {
			all = append(all, y)
		}
	}
	slices.SortFunc(all, func(a, b *objects.Allocation) int { return cmp.Compare(a.Key(), b.Key()) })
	return all
}

// VictimPriority returns the priority of x as a victim: that of its ask or, if it is preempted as a unit, the group
// priority of its application if that is lower (PRE-51).
func VictimPriority(x *objects.Allocation) int32 {
	if n, ok := x.Application().GroupPriority(); ok && PreemptedAsUnit(x) {
		return min(x.Ask().Priority, n)
	}
	return x.Ask().Priority
}

// unitOf returns the victim unit of y.
func (h *victimSearch) unitOf(y *objects.Allocation) victimUnit {
	if PreemptedAsUnit(y) {
		return *h.groupOf(y)
	}
	return h.singleUnit(y)
}

// singleUnit returns the unit of y alone, even if y belongs to a victim group.
func (h *victimSearch) singleUnit(y *objects.Allocation) victimUnit {
	u := victimUnit{
		first: y, single: [1]*objects.Allocation{y}, priority: VictimPriority(y), startedAt: y.BoundAt().UnixNano(),
		optedOut: !y.Ask().Policy.AllowPreemptSelf(), originator: y.Ask().Originator,
		requiresNode: y.Ask().RequiredNode() != "",
	}
	if h.qosCounts {
		u.qos = priorities.QoSOf(y.Ask().Tags())
	}
	return u
}

// groupKey identifies a victim group.
type groupKey struct {
	app   *objects.Application
	group string // the task group; empty: the whole application
}

// groupOf returns the victim group of y as one search finds it (PRE-50 to PRE-52). An application may have thousands of
// allocations, so the group is summed up once. Requires: PreemptedAsUnit(y), and y is not preempting.
func (h *victimSearch) groupOf(y *objects.Allocation) *victimUnit {
	key := groupKey{app: y.Application()}
	if key.app.Queue().VictimUnit() == policies.VictimUnitTaskGroup {
		key.group = y.Ask().TaskGroup()
	}
	f := h.groups[key]
	if f != nil {
		return f
	}
	group := Unit(h.part, y)
	one := h.singleUnit(group[0])
	f = &one
	for _, z := range group {
		one := h.singleUnit(z)
		f.priority, f.optedOut, f.originator = max(f.priority, one.priority), f.optedOut || one.optedOut, f.originator ||
			one.originator
		f.qos, f.requiresNode = max(f.qos, one.qos), f.requiresNode || one.requiresNode
		f.startedAt = min(f.startedAt, one.startedAt)
	}
	if len(group) > 1 {
		f.group = group
	}
	if h.groups == nil {
		h.groups = map[groupKey]*victimUnit{}
	}
	h.groups[key] = f
	return f
}

// members returns the allocations of u. Read-only, and valid as long as u is not moved.
func (u *victimUnit) members() []*objects.Allocation {
	if u.group == nil {
		return u.single[:]
	}
	return u.group
}

// sortByImportance sorts units, the most important first.
func (h *victimSearch) sortByImportance(list []victimUnit) {
	slices.SortFunc(list, func(a, b victimUnit) int { return -h.compareImportance(&a, &b) })
}

// compareImportance returns a positive number when a is more important than b, that is, preempted later (PRE-41 to
// PRE-45, PRE-53). What has just begun is preempted last (PRE-123). By priority the priority counts next; by other
// reasons opting out and being an originator count before it, and with the victim order of YuniKorn the priority does
// not count. The quality of service follows the priority, where it is enabled. Then a group is more important than an
// allocation, a larger group than a smaller one, the older unit than the newer. Ties are broken by key: the smaller is
// more important.
func (h *victimSearch) compareImportance(a, b *victimUnit) int {
	byPriority := cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.qos, b.qos))
	byProtection := cmp.Or(cmp.Compare(boolToInt(a.optedOut), boolToInt(b.optedOut)),
		cmp.Compare(boolToInt(a.originator), boolToInt(b.originator)))
	switch {
	case h.reason == ReasonPriority:
		byProtection, byPriority = byPriority, byProtection
	case h.yunikornCompatible():
		byPriority = 0
	}
	switch {
	case a.young != b.young:
		return boolToInt(a.young) - boolToInt(b.young)
	case byProtection != 0:
		return byProtection
	case byPriority != 0:
		return byPriority
	case len(a.group) != len(b.group):
		return cmp.Compare(len(a.group), len(b.group))
	case a.startedAt != b.startedAt:
		return cmp.Compare(b.startedAt, a.startedAt)
	}
	return cmp.Compare(b.first.Key(), a.first.Key()) // last, because it costs most
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
