package objects

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// TagGroupPriority is the tag of an application with the priority of its groups, where the
// leaf says that work falls in groups (ADR 24). Base 10, 32 bits.
const TagGroupPriority = "canopy.scheduler/group-priority"

// ReadGroupPriorityTag reads the priority of the groups of an application from its tags. One that
// makes no sense is left out and returned as a problem. Requires: there is the application.
func (p *Partition) ReadGroupPriorityTag(id AppID) error {
	a := p.apps[id]
	text, ok := a.tags[TagGroupPriority]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("tag %s: %q is not a whole number that fits 32 bits", TagGroupPriority, text)
	}
	a.groupPriority, a.hasGroupPriority = int32(n), true
	return nil
}

// PreemptedAsUnit reports whether x falls with others: the leaf says so, and the ask that it has a
// task group, where that counts.
func (x *Allocation) PreemptedAsUnit() bool {
	switch x.app.queue.conf.VictimUnit {
	case policies.VictimUnitApplication:
		return true
	case policies.VictimUnitTaskGroup:
		return x.ask.TaskGroup != ""
	}
	return false
}

// SameVictimUnit reports whether two allocations fall together. Requires: x is grouped.
func (x *Allocation) SameVictimUnit(y *Allocation) bool {
	return x.app == y.app && (x.app.queue.conf.VictimUnit == policies.VictimUnitApplication || x.ask.TaskGroup == y.ask.TaskGroup)
}

// VictimUnit are those that fall with x, and x, without who was told to leave; in key order.
func (p *Partition) VictimUnit(x *Allocation) (all []*Allocation) {
	for _, y := range x.app.allocations {
		if y.node != nil && x.SameVictimUnit(y) && !p.Preempting(y) {
			all = append(all, y)
		}
	}
	slices.SortFunc(all, func(a, b *Allocation) int { return cmp.Compare(a.Key(), b.Key()) })
	return all
}

// VictimPriority is the priority of x as a victim: what its ask has, or the application says of its
// groups if that is less. A group can make itself less important, never more.
func (x *Allocation) VictimPriority() int32 {
	if x.app.hasGroupPriority && x.PreemptedAsUnit() {
		return min(x.ask.Priority, x.app.groupPriority)
	}
	return x.ask.Priority
}
