package policies

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// CurrentPriority is the priority of the pending work of an application or a queue: the
// highest of its asks. The zero value says that nothing is pending, which is a
// state of its own and below every number (seed 004; behaviour.md 3.9).
type CurrentPriority struct {
	Value   int32 // meaningless unless Pending
	Pending bool
}

// Pending is the Current of work whose highest priority is v.
func Pending(v int32) CurrentPriority { return CurrentPriority{v, true} }

// Compare orders by importance: positive when c is more important than d.
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

// Number is the value that REST and metrics show: the smallest int32 stands for
// "nothing pending", as upstream has it (behaviour.md 11.4).
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

// PriorityPolicy says how a queue shows the priority of its work to its parent
// (property priority.policy).
type PriorityPolicy uint8

// The priority policies. Neither is inherited, neither has an effect on root.
const (
	PriorityDefault PriorityPolicy = iota // the work's priority plus the queue's offset
	PriorityFence                         // always just the offset
)

func (p PriorityPolicy) String() string { return [...]string{"default", "fence"}[p] }

// ApplyOffset is the priority a queue shows its parent when the work below it has
// priority c: fenced in or not, plus its offset, clamped to int32. With nothing
// pending there is nothing to show, whatever the policy (priority.md D13).
func (p PriorityPolicy) ApplyOffset(c CurrentPriority, offset int32) CurrentPriority {
	switch {
	case !c.Pending:
		return c
	case p == PriorityFence:
		return Pending(offset)
	}
	return Pending(int32(min(max(int64(c.Value)+int64(offset), math.MinInt32), math.MaxInt32)))
}

// PriorityCounter counts how many asks, applications or queues have each priority, so that
// the highest is known without looking at any of them again. The zero value is
// empty and ready.
//
// Nearly all tallies count one priority. So the highest needs no list.
type PriorityCounter struct {
	top  priorityCount   // the highest; n is 0 when nothing is counted
	rest []priorityCount // the others, highest priority first, counts above zero
}

type priorityCount struct {
	priority int32
	n        int
}

// Add counts one more at c. Something with nothing pending does not count.
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

// Remove counts one less at c. Requires: it was added.
func (t *PriorityCounter) Remove(c CurrentPriority) {
	if !c.Pending {
		return
	}
	if t.top.n > 0 && c.Value == t.top.priority {
		if t.top.n--; t.top.n == 0 && len(t.rest) > 0 {
			t.top = t.rest[0]
			t.rest = slices.Delete(t.rest, 0, 1)
		}
		return
	}
	i, ok := t.find(c.Value)
	if !ok {
		panic("policies: priority " + c.String() + " was never tallied")
	}
	if t.rest[i].n--; t.rest[i].n == 0 {
		t.rest = slices.Delete(t.rest, i, i+1)
	}
}

// Max is the highest priority counted, or nothing pending.
func (t *PriorityCounter) Max() CurrentPriority {
	if t.top.n == 0 {
		return CurrentPriority{}
	}
	return Pending(t.top.priority)
}

func (t *PriorityCounter) find(p int32) (int, bool) {
	return slices.BinarySearchFunc(t.rest, p, func(x priorityCount, p int32) int { return cmp.Compare(p, x.priority) })
}
