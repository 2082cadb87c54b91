package objects

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// TagGroupPriority is the application tag with the priority of victim groups of the application, a
// decimal 32-bit number (PRE-51).
const TagGroupPriority = "canopy.scheduler/group-priority"

// ReadGroupPriorityTag reads the group priority of an application from its tags. A malformed tag is
// ignored and returned as an error. Requires: the application exists.
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

// PreemptedAsUnit reports whether x is preempted together with others: preemption.victim.unit of
// its leaf is application, or it is taskgroup and x has a task group (PRE-50).
func (x *Allocation) PreemptedAsUnit() bool {
	switch x.app.queue.conf.VictimUnit {
	case policies.VictimUnitApplication:
		return true
	case policies.VictimUnitTaskGroup:
		return x.ask.TaskGroup() != ""
	}
	return false
}

// SameVictimUnit reports whether x and y are preempted together. Requires: x.PreemptedAsUnit().
func (x *Allocation) SameVictimUnit(y *Allocation) bool {
	return x.app == y.app &&
		(x.app.queue.conf.VictimUnit == policies.VictimUnitApplication || x.ask.TaskGroup() == y.ask.TaskGroup())
}

// VictimUnit is x and the allocations that are preempted with it, without preempting ones and placeholders that end
// already, in key order.
func (p *Partition) VictimUnit(x *Allocation) (all []*Allocation) {
	for _, y := range x.app.allocations {
		if y.node != nil && x.SameVictimUnit(y) && !p.Preempting(y) && !p.gangs.isEnding(y) {
			all = append(all, y)
		}
	}
	slices.SortFunc(all, func(a, b *Allocation) int { return cmp.Compare(a.Key(), b.Key()) })
	return all
}

// VictimPriority is the priority of x as a victim: that of its ask or, if it is preempted as a
// unit, the group priority of its application if that is lower (PRE-51).
func (x *Allocation) VictimPriority() int32 {
	if x.app.hasGroupPriority && x.PreemptedAsUnit() {
		return min(x.ask.Priority, x.app.groupPriority)
	}
	return x.ask.Priority
}
