package policies

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// CurrentPriority is the current priority of an application or a queue: the highest of its pending asks (PRI-6,
// PRI-9). The zero value means that nothing is pending, which is below every number (PRI-7).
type CurrentPriority struct {
	Value   int32 // undefined unless Pending
	Pending bool
}

// Pending returns the CurrentPriority of pending asks whose highest priority is v.
func Pending(v int32) CurrentPriority { return CurrentPriority{v, true} }

// Compare returns a positive number when c is higher than d.
func (c CurrentPriority) Compare(d CurrentPriority) int {
	switch {
	case c.Pending && d.Pending:
		return cmp.Compare(c.Value, d.Value)
	case c.Pending:
		return 1
	case d.Pending:
		return -1
	}
	return 0
}

// Number returns the value that REST and metrics show: the smallest int32 if nothing is pending, as in YuniKorn
// (PRI-7).
func (c CurrentPriority) Number() int32 {
	if !c.Pending {
		return math.MinInt32
	}
	return c.Value
}

func (c CurrentPriority) String() string {
	if !c.Pending {
		return "none"
	}
	return strconv.Itoa(int(c.Value))
}

// Raised returns c with a number that is at least 0 added, which saturates at the largest int32. If nothing is pending,
// nothing is pending.
func (c CurrentPriority) Raised(by int32) CurrentPriority {
	if !c.Pending {
		return c
	}
	return Pending(int32(min(int64(c.Value)+int64(by), math.MaxInt32)))
}

// PriorityPolicy says how a queue exposes the priorities below it to its parent (property priority.policy).
type PriorityPolicy uint8

// The priority policies. They are not inherited, and have no effect on root (PRI-16).
const (
	PriorityDefault PriorityPolicy = iota // the highest priority below plus the offset
	PriorityFence                         // the offset, whatever is pending below (PRI-12)
)

func (p PriorityPolicy) String() string { return [...]string{"default", "fence"}[p] }

// ApplyOffset returns the priority that a queue exposes to its parent when c is the highest below it: c, or 0 with a
// fence, plus the offset, clamped to int32 (PRI-9, PRI-10, PRI-12). If nothing is pending below, the result is nothing
// pending, whatever the policy (PRI-13).
func (p PriorityPolicy) ApplyOffset(c CurrentPriority, offset int32) CurrentPriority {
	switch {
	case !c.Pending:
		return c
	case p == PriorityFence:
		return Pending(offset)
	}
	return Pending(int32(min(max(int64(c.Value)+int64(offset), math.MinInt32), math.MaxInt32)))
}

// PriorityCounter counts how many asks, applications or queues have each priority, so that the highest is known
// without reading them again (PRI-8). The zero value is empty and ready.
//
// Nearly all counters count a single priority, so the highest is stored without a list.
type PriorityCounter struct {
	top  priorityCount   // the highest; n is 0 when nothing is counted
	rest []priorityCount // the lower priorities in descending order, counts above zero
}

type priorityCount struct {
	priority int32
	n        int
}

// Add adds one to the count of c. Nothing pending does not count.
func (t *PriorityCounter) Add(c CurrentPriority) {
	switch {
	case !c.Pending:
	case t.top.n == 0:
		t.top = priorityCount{c.Value, 1}
	case c.Value == t.top.priority:
		t.top.n++
	case c.Value > t.top.priority:
		t.rest = slices.Insert(t.rest, 0, t.top)
		t.top = priorityCount{c.Value, 1}
	default:
		i, ok := t.find(c.Value)
		if !ok {
			t.rest = slices.Insert(t.rest, i, priorityCount{priority: c.Value})
		}
		t.rest[i].n++
	}
}

// Remove takes one from the count of c. Requires: it was added; otherwise it panics.
func (t *PriorityCounter) Remove(c CurrentPriority) {
	if !c.Pending {
		return
	}
	if t.top.n > 0 && c.Value == t.top.priority {
		t.top.n--
		if t.top.n == 0 && len(t.rest) > 0 {
			t.top = t.rest[0]
			t.rest = slices.Delete(t.rest, 0, 1)
		}
		return
	}
	i, ok := t.find(c.Value)
	if !ok {
		panic("policies: priority " + c.String() + " was never counted")
	}
	t.rest[i].n--
	if t.rest[i].n == 0 {
		t.rest = slices.Delete(t.rest, i, i+1)
	}
}

// Max returns the highest priority with a count, or nothing pending.
func (t *PriorityCounter) Max() CurrentPriority {
	if t.top.n == 0 {
		return CurrentPriority{}
	}
	return Pending(t.top.priority)
}

func (t *PriorityCounter) find(p int32) (int, bool) {
	return slices.BinarySearchFunc(t.rest, p, func(x priorityCount, p int32) int { return cmp.Compare(p, x.priority) })
}
