package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// What preemption asks before it tells anybody to leave. Nothing here changes a book: a
// question is answered by adding up.

// Spared reports whether q would be below its guarantee, in something that y holds, if y
// left it, and so would victims and all who were told to leave. y must stay then, as far as
// q is concerned (priority.md P4).
func (q *Queue) Spared(y *Allocation, victims []*Allocation) bool {
	if len(q.guaranteed) == 0 {
		return false
	}
	for k, n := range y.shape.vector {
		k := resources.Kind(k)
		if g, ok := q.guaranteed.At(k); ok && n > 0 && q.leftOf(k, y, victims) < g {
			return true
		}
	}
	return false
}

// leftOf is what q would hold of a kind of resource without y, the victims and all who were
// told to leave. It is asked for one victim after the other, so it makes no vector.
func (q *Queue) leftOf(k resources.Kind, y *Allocation, victims []*Allocation) resources.Quantity {
	left := resources.Less(resources.Less(q.allocated.At(k), q.leaving.At(k)), y.shape.vector.At(k))
	for _, z := range victims {
		if q.Above(z.app.queue) {
			left = resources.Less(left, z.shape.vector.At(k))
		}
	}
	return left
}

// Entitles reports whether q guarantees something of what x asks for (about), and whether x
// would still be within the guarantee (within). What was told to leave does not count,
// what is promised to nominees does.
func (q *Queue) Entitles(x *Allocation) (about, within bool) {
	used := slices.Clone(q.allocated)
	used.Sub(q.leaving)
	used.Add(q.promised)
	used.Add(x.shape.vector)
	within = true
	for k, n := range x.shape.vector {
		if g, ok := q.guaranteed.At(resources.Kind(k)); ok && n > 0 {
			about = true
			within = within && used.At(resources.Kind(k)) <= g
		}
	}
	return about, about && within
}

// Standing is the priority of x as it is seen from above, a queue on its path: its own
// number, carried up through the offsets and fences of the queues below above
// (priority.md P3). In its own leaf it is the plain number.
func (x *Allocation) Standing(above *Queue) int32 { return x.app.queue.Expose(x.ask.Priority, above) }

// Expose is how a number of work in a leaf is seen from above, a queue on its path.
func (leaf *Queue) Expose(number int32, above *Queue) int32 {
	c := policies.Pending(number)
	for q := leaf; q != above; q = q.parent {
		c = q.rule.priority.Expose(c, q.rule.offset)
	}
	return c.Value
}

// CompareTurns is negative when it is the turn of a before that of b, whether or not they can
// be placed.
func CompareTurns(a, b *Class) int {
	if a.app == b.app {
		return policies.CompareAsks(&a.Pending()[0].key, &b.Pending()[0].key)
	}
	if a.app.queue == b.app.queue {
		return a.app.queue.apps.compare(a.app, b.app)
	}
	left, right := a.app.queue.line(), b.app.queue.line()
	for i := range left { // both begin at root
		if left[i] != right[i] {
			return left[i].parent.children.compare(left[i], right[i])
		}
	}
	panic("objects: a leaf is above another")
}

// line is the queues from root to q.
func (q *Queue) line() (line []*Queue) {
	for ; q != nil; q = q.parent {
		line = append(line, q)
	}
	slices.Reverse(line)
	return line
}

// TakeFresh returns the classes that have come up since it was last called and that have a
// reason to look whether they could preempt somebody; some may have gone again.
func (p *Partition) TakeFresh() []*Class {
	out := p.fresh
	p.fresh = nil
	return out
}

// notice lists c as fresh, if it may have a right and has not been listed before.
func (p *Partition) notice(c *Class) {
	if c.MayClaim() && !c.noticed {
		c.noticed = true
		p.fresh = append(p.fresh, c)
	}
}

func (p *Partition) noticeAll(a *Application) {
	for _, c := range a.classes.list {
		p.notice(c)
	}
}

// TakeOvertaken returns the classes of which another ask than before may be the first that waits
// for no node, since it was last called. The list is good until the partition
// changes.
func (p *Partition) TakeOvertaken() []*Class {
	out := p.overtaken
	p.overtaken = p.overtaken[:0]
	for _, c := range out {
		c.passed = false
	}
	return out
}

func (p *Partition) overtake(c *Class) {
	if c.noticed && !c.passed {
		c.passed = true
		p.overtaken = append(p.overtaken, c)
	}
}

// MayClaim reports whether c may preempt by the policy of its asks, and the configuration gives
// it any right to.
func (c *Class) MayClaim() bool {
	return c.id.preempts && (c.app.queue.rule.claims || c.id.shape.required != "")
}

// Notice says that c need not be listed as fresh.
func (c *Class) Notice() { c.noticed = true }

// Overlook forgets that c was ever fresh: it will be again when it has a right.
func (c *Class) Overlook() { c.noticed = false }

// rule finds out what q goes by that depends on more than its own settings.
func (p *Partition) rule(q *Queue) {
	q.rule.claims = q.Leaf() && p.claims(q)
	if q.rule.by = q.conf.PrioritySort; p.conf.IgnorePriority {
		q.rule.by = policies.PriorityIgnored
	}
}

// claims reports whether the configuration gives asks in q any right to preempt: one of the
// queues from q up to the fence has a guarantee, or priority counts.
func (p *Partition) claims(q *Queue) bool {
	if !p.conf.Preemption || p.conf.IgnorePriority {
		return false
	}
	if q.conf.PrioritySwap != policies.PrioritySwapNone {
		return true
	}
	for ; q != nil; q = q.parent {
		if len(q.guaranteed) > 0 {
			return true
		}
		if q.conf.Preemption == policies.PreemptFence {
			break
		}
	}
	return false
}

// Pending are the asks of c, also those that were set aside, in turn.
func (c *Class) Pending() []*Allocation {
	if len(c.aside) == 0 {
		return c.Asks()
	}
	all := slices.Concat(c.Asks(), c.aside)
	slices.SortFunc(all, func(a, b *Allocation) int { return policies.CompareAsks(&a.key, &b.key) })
	return all
}

// LooksTogether reports whether the asks of the task group of x look for victims together, or
// not at all (priority.md 2.8).
func (x *Allocation) LooksTogether() bool {
	return x.ask.TaskGroup != "" && x.app.queue.conf.GangPreemption
}

// Gang are the pending asks of the task group of x that wait for no node yet, x among them,
// in turn. Requires: x has a task group, is pending and waits for no node.
func (p *Partition) Gang(x *Allocation) (all []*Allocation) {
	for _, y := range x.app.work {
		if y.Pending() && y.ask.TaskGroup == x.ask.TaskGroup && p.Nomination(y) == nil {
			all = append(all, y)
		}
	}
	slices.SortFunc(all, func(a, b *Allocation) int { return policies.CompareAsks(&a.key, &b.key) })
	return all
}

// Application is whose asks they are.
func (c *Class) Application() *Application { return c.app }

// Bound yields the allocations of a, in no order.
func (a *Application) Bound(yield func(*Allocation) bool) {
	for _, x := range a.work {
		if !x.Pending() && !yield(x) {
			return
		}
	}
}
