package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// crew is the work on a node, but for who accepts no other node or was told to leave: the least
// important first, by number alone until somebody needs more (inOrder). It would free freedBy(i)
// if all were gone that is at most as important as upTo[i], and all if it were gone whole.
type crew struct {
	workers []worker
	upTo    []int32              // ascending
	freed   []resources.Quantity // by each but the last, one behind the other, width of each
	width   int
	room    resources.Vector // what is available; in flat, as the next
	all     resources.Vector
	sorted  bool // workers are in the order of compareWorkers
	grouped bool // somebody may fall with others
	covered bool // a budget is about somebody
	mixed   bool // somebody agreed to leave and somebody did not, or leads an application
	plain   bool // the node takes work, nobody waits for it and nobody was told to leave it
}

// worker is an allocation as a look has to know it. Those of a node lie together: a look meets
// a thousand, and fetching each would take most of its time.
type worker struct {
	y      *objects.Allocation
	shape  *objects.Shape
	since  int64 // when it began to run, in nanoseconds
	leaf   int32 // in roll.leaves
	number int32
	kind   int8 // as kindOf has it
}

// compareWorkers is negative when a matters less than b, by right of priority: see
// compareImportance.
func compareWorkers(a, b worker) int {
	if order := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.kind, b.kind)); order != 0 {
		return order
	}
	return compareAge(&a, &b)
}

// compareAge is negative when a is newer than b. The name, which takes longest to get, settles the rest.
func compareAge(a, b *worker) int {
	if order := cmp.Compare(b.since, a.since); order != 0 {
		return order
	}
	return cmp.Compare(b.y.Key(), a.y.Key())
}

// meet finds out who is in the crew of a node.
func (l *roll) meet(n *objects.Node, c *crew) {
	c.sorted, c.grouped, c.covered, c.mixed = false, false, false, false
	l.met, l.keys = l.met[:0], l.keys[:0]
	levels := false
	for y := range n.EachWork {
		if y.Ask().RequiredNode != "" || l.part.Leaving(y) {
			continue
		}
		w := worker{y: y, shape: y.Shape(), since: y.BoundAt().UnixNano(), leaf: l.numberOf(y.Application().Queue()), number: y.Number(), kind: kindOf(!y.Ask().Policy.Self(), y.Ask().Originator)}
		l.keys = append(l.keys, (int64(w.number)<<32)|int64(len(l.met)))
		l.met = append(l.met, w)
		c.covered = c.covered || len(l.part.BudgetsOf(y)) > 0
		c.grouped, c.mixed, levels = c.grouped || y.Grouped(), c.mixed || w.kind != l.met[0].kind, levels || w.number != l.met[0].number
	}
	if c.workers = slices.Grow(c.workers[:0], len(l.met)); !levels {
		c.workers = append(c.workers, l.met...)
		return
	}
	slices.Sort(l.keys)
	for _, key := range l.keys {
		c.workers = append(c.workers, l.met[uint32(key)])
	}
}

// kindOf is 0 for work that agreed to leave, 2 more if it did not, 1 more if it leads an application.
func kindOf(opposed, leads bool) int8 { return int8(2*yes(opposed) + yes(leads)) }

// inOrder are the workers in the order of compareWorkers. Most are never asked for, and to sort
// them all would take most of the time of the first look.
func (c *crew) inOrder() []worker {
	if !c.sorted {
		c.sorted = true
		slices.SortFunc(c.workers, compareWorkers)
	}
	return c.workers
}

// addUp finds out what goes with whom. Requires: all is nothing yet.
func (c *crew) addUp() {
	c.upTo, c.freed, c.width = c.upTo[:0], c.freed[:0], len(c.all)
	for i := range c.workers {
		w := &c.workers[i]
		if k := len(c.upTo); k == 0 || c.upTo[k-1] != w.number {
			if k > 0 {
				c.freed = append(c.freed, c.all...)
			}
			c.upTo = append(c.upTo, w.number)
		}
		c.all.Add(w.shape.Vector())
	}
}

// freedBy is what would be free if all were gone that is at most as important as upTo[i].
func (c *crew) freedBy(i int) resources.Vector {
	if i == len(c.upTo)-1 {
		return c.all
	}
	return c.freed[i*c.width : (i+1)*c.width]
}

// rank is the rank of a node with so much room, for who asks for v.
func (c *crew) rank(room, v resources.Vector) int64 {
	if room.Covers(v) {
		return roomy
	}
	for i, upTo := range c.upTo {
		if coversTogether(room, c.freedBy(i), v) {
			return int64(upTo)
		}
	}
	return hopeless
}
