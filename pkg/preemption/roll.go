package preemption

import (
	"cmp"
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// roll lists the nodes in ID order, and for each what a look has to know about the work on it.
// It is brought up to date by what has changed, not made anew.
type roll struct {
	part  *objects.Partition
	nodes []*objects.Node
	place map[*objects.Node]int // in nodes
	crews []crew                // by place

	kinds int                  // of resources, for which there is place in flat
	flat  []resources.Quantity // by place: what is available, and then what all of its crew would free
	only  []int64              // by place: the priority of all of its crew; or manyLevels, or notPlain

	leaves []*objects.Queue // that ever had work on a node; crews know them by their number
	number map[*objects.Queue]int32
	works  [][]int32             // by leaf: the places with work of it in a crew, ascending
	units  []policies.VictimUnit // by leaf, as it was when crews were met
	marks  []uint64              // scratch: by leaf
	mark   uint64
	met    []worker // scratch of meet
	keys   []int64  // of met: the number, and the place in it

	set   uint64 // of nodes, as Partition.NodeSet tells it
	rules uint64 // of the configuration, as Partition.Rules tells it
	made  int    // how often the list was made
	log   []int  // places whose crew was renewed, since made

	ranked uint64 // Effort.Ranked
}

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

// These are no priorities.
const (
	manyLevels = math.MinInt64     // there is work of several, or none
	notPlain   = math.MinInt64 + 1 // the node is not plain
)

// worker is an allocation as a look has to know it. Those of a node lie together: a look meets
// a thousand, and fetching each would take most of its time.
type worker struct {
	y      *objects.Allocation
	shape  *objects.Shape
	since  int64 // when it began to run, in nanoseconds
	leaf   int32 // in roll.leaves
	number int32
	kind   int8 // 0: it agreed to leave; 2 more if it did not, 1 more if it leads an application
}

// compareWorkers is negative when a matters less than b, by right of priority: see
// compareImportance.
func compareWorkers(a, b worker) int {
	if order := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.kind, b.kind), cmp.Compare(b.since, a.since)); order != 0 {
		return order
	}
	return cmp.Compare(b.y.Key(), a.y.Key())
}

// sync brings the roll up to date.
func (l *roll) sync() {
	switch {
	case l.place == nil || len(l.log) > 4*len(l.nodes)+64:
		l.remake(nil, nil)
	case l.set != l.part.NodeSet() || l.kinds != l.part.Kinds():
		l.remake(l.place, l.crews)
	}
	for _, n := range l.part.TakeTouched() {
		if i, there := l.place[n]; there { // else it has gone, and the list was made without it
			l.renew(i)
			l.log = append(l.log, i)
		}
	}
	if l.rules != l.part.Rules() {
		l.rules = l.part.Rules()
		l.regroup()
	}
}

// regroup meets those crews again that the configuration groups in another way now. Nothing else of it
// is kept in mind.
func (l *roll) regroup() {
	var places []int32
	for number, leaf := range l.leaves {
		if unit := leaf.Settings().VictimUnit; unit != l.units[number] {
			l.units[number] = unit
			places = append(places, l.works[number]...)
		}
	}
	slices.Sort(places)
	for _, i := range slices.Compact(places) {
		l.renew(int(i))
		l.log = append(l.log, int(i))
	}
}

// remake lists the nodes anew. Of those that were at a place before, the crew is kept.
func (l *roll) remake(before map[*objects.Node]int, crews []crew) {
	if before == nil {
		l.part.TakeTouched() // all are looked at
		l.leaves, l.units, l.number, l.rules = nil, nil, map[*objects.Queue]int32{}, l.part.Rules()
	}
	l.set, l.nodes = l.part.NodeSet(), l.part.Nodes()
	l.place, l.crews, l.log = make(map[*objects.Node]int, len(l.nodes)), make([]crew, len(l.nodes)), l.log[:0]
	l.works, l.marks, l.mark = make([][]int32, len(l.leaves)), make([]uint64, len(l.leaves)), 0
	l.kinds = l.part.Kinds()
	l.flat, l.only = make([]resources.Quantity, 2*l.kinds*len(l.nodes)), make([]int64, len(l.nodes))
	l.made++
	for i, n := range l.nodes {
		l.place[n] = i
		was, there := before[n]
		if !there {
			l.renew(i)
			continue
		}
		l.crews[i] = crews[was]
		c := &l.crews[i]
		l.flatten(i, c.room, c.all)
		l.describe(i)
		l.enlist(i, nil)
	}
}

func (l *roll) renew(i int) {
	n, c := l.nodes[i], &l.crews[i]
	var before [16]int32
	gone := l.leavesOf(c, before[:0])
	l.meet(n, c)
	c.plain = n.Schedulable() && !n.Disturbed()
	l.flatten(i, n.Available(), nil)
	c.addUp()
	l.describe(i)
	l.enlist(i, gone)
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
		w := worker{y: y, shape: y.Shape(), since: y.BoundAt().UnixNano(), leaf: l.numberOf(y.Application().Queue()), number: y.Number(), kind: kindOf(y)}
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

// flatten gives the crew at a place its rows in flat.
func (l *roll) flatten(i int, room, all resources.Vector) {
	c, at := &l.crews[i], 2*l.kinds*i
	row, other := l.flat[at:at+l.kinds:at+l.kinds], l.flat[at+l.kinds:at+2*l.kinds:at+2*l.kinds]
	clear(row[copy(row, room):])
	clear(other[copy(other, all):])
	c.room, c.all = row, other
}

// describe says what the ranks of a node can be.
func (l *roll) describe(i int) {
	switch c := &l.crews[i]; {
	case !c.plain:
		l.only[i] = notPlain
	case len(c.upTo) == 1:
		l.only[i] = int64(c.upTo[0])
	default:
		l.only[i] = manyLevels
	}
}

func kindOf(y *objects.Allocation) int8 {
	return int8(2*yes(!y.Ask().Policy.Self()) + yes(y.Ask().Originator))
}

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

func (l *roll) numberOf(leaf *objects.Queue) int32 {
	i, known := l.number[leaf]
	if !known {
		i = int32(len(l.leaves))
		l.number[leaf] = i
		l.leaves, l.works, l.marks = append(l.leaves, leaf), append(l.works, nil), append(l.marks, 0)
		l.units = append(l.units, leaf.Settings().VictimUnit)
	}
	return i
}

// leavesOf adds the leaves of a crew, each once.
func (l *roll) leavesOf(c *crew, to []int32) []int32 {
	l.mark++
	for i := range c.workers {
		if leaf := c.workers[i].leaf; l.marks[leaf] != l.mark {
			l.marks[leaf] = l.mark
			to = append(to, leaf)
		}
	}
	return to
}

// enlist brings the places of leaves up to date. before are the leaves that had work there.
func (l *roll) enlist(i int, before []int32) {
	var now [16]int32
	there := l.leavesOf(&l.crews[i], now[:0])
	for _, leaf := range before {
		if l.marks[leaf] != l.mark {
			at, _ := slices.BinarySearch(l.works[leaf], int32(i))
			l.works[leaf] = slices.Delete(l.works[leaf], at, at+1)
		}
	}
	for _, leaf := range there {
		if n := len(l.works[leaf]); n == 0 || l.works[leaf][n-1] < int32(i) { // always so when all is listed anew
			l.works[leaf] = append(l.works[leaf], int32(i))
		} else if at, listed := slices.BinarySearch(l.works[leaf], int32(i)); !listed {
			l.works[leaf] = slices.Insert(l.works[leaf], at, int32(i))
		}
	}
}
