package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// victimUnit is what is taken whole or not at all: an allocation, or a group of them, wherever
// they run (priority.md 2.8).
type victimUnit struct {
	first          *objects.Allocation    // the first by key
	single         [1]*objects.Allocation // it too
	group          []*objects.Allocation  // in key order; nil: lead alone
	priority       int32                  // its priority: of a group that of its most important member
	optedOut       bool                   // one of them did not agree to leave
	originator     bool                   // one of them leads its application
	startedAt      int64                  // when the first of them began to run, in nanoseconds
	qos            priorities.QoS         // the best of theirs, where that counts
	violatesBudget bool                   // a budget does not allow it to leave
}

// unitOf is what y falls with.
func (h *victimSearch) unitOf(y *objects.Allocation) victimUnit {
	if y.PreemptedAsUnit() {
		return h.groupOf(y).victimUnit
	}
	return h.singleUnit(y)
}

// singleUnit is y alone, whoever it falls with.
func (h *victimSearch) singleUnit(y *objects.Allocation) victimUnit {
	u := victimUnit{
		first: y, single: [1]*objects.Allocation{y}, priority: y.VictimPriority(), startedAt: y.BoundAt().UnixNano(),
		optedOut: !y.Ask().Policy.AllowPreemptSelf(), originator: y.Ask().Originator,
	}
	if h.qosCounts {
		u.qos = priorities.QoSOf(y.Ask().Tags)
	}
	return u
}

// groupKey are allocations that fall together.
type groupKey struct {
	app   *objects.Application
	group string // empty: all of the application
}

// victimGroup is a group as one search finds it. An application may have thousands in it, so it
// is added up once.
type victimGroup struct {
	victimUnit
	requiresNode bool // one of them accepts no other node
}

// limitedGroup is the group of y. Requires: y is grouped, and was not told to leave.
func (h *victimSearch) groupOf(y *objects.Allocation) *victimGroup {
	key := groupKey{app: y.Application()}
	if key.app.Queue().Settings().VictimUnit == policies.VictimUnitTaskGroup {
		key.group = y.Ask().TaskGroup
	}
	f := h.groups[key]
	if f != nil {
		return f
	}
	group := h.part.VictimUnit(y)
	f = &victimGroup{victimUnit: h.singleUnit(group[0])}
	for _, z := range group {
		one := h.singleUnit(z)
		f.priority, f.optedOut, f.originator = max(f.priority, one.priority), f.optedOut || one.optedOut, f.originator || one.originator
		f.qos, f.requiresNode = max(f.qos, one.qos), f.requiresNode || z.Ask().RequiredNode != ""
		f.startedAt = min(f.startedAt, one.startedAt)
	}
	if len(group) > 1 {
		f.group = group
	}
	if h.groups == nil {
		h.groups = map[groupKey]*victimGroup{}
	}
	h.groups[key] = f
	return f
}

// members are the allocations of u. Read-only, and good as long as u stays where it is.
func (u *victimUnit) members() []*objects.Allocation {
	if u.group == nil {
		return u.single[:]
	}
	return u.group
}

// sortByImportance puts those first that should stay longest.
func (h *victimSearch) sortByImportance(list []victimUnit) {
	slices.SortFunc(list, func(a, b victimUnit) int { return -h.compareImportance(&a, &b) })
}

// compareImportance is positive when a should stay rather than b. By priority, the number
// counts first; by other rights it is whether one agreed to leave, and whether it leads its
// application (P8), and then the number, unless a guarantee is to be upheld as upstream does.
// Behind the number comes the quality of service, where that counts. Groups stay rather than
// single ones, and larger groups rather than smaller; among equals it is the older, and the
// name settles the rest.
func (h *victimSearch) compareImportance(a, b *victimUnit) int {
	byPriority := cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.qos, b.qos))
	byProtection := cmp.Or(cmp.Compare(boolToInt(a.optedOut), boolToInt(b.optedOut)), cmp.Compare(boolToInt(a.originator), boolToInt(b.originator)))
	switch {
	case h.reason == ReasonPriority:
		byProtection, byPriority = byPriority, byProtection
	case h.yunikornCompatible():
		byPriority = 0
	}
	switch {
	case byProtection != 0:
		return byProtection
	case byPriority != 0:
		return byPriority
	case len(a.group) != len(b.group):
		return cmp.Compare(len(a.group), len(b.group))
	case a.startedAt != b.startedAt:
		return cmp.Compare(b.startedAt, a.startedAt)
	}
	return cmp.Compare(b.first.Key(), a.first.Key()) // asked for last: it takes longest
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
