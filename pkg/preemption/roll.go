package preemption

import (
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

// These are no priorities.
const (
	manyLevels = math.MinInt64     // there is work of several, or none
	notPlain   = math.MinInt64 + 1 // the node is not plain
)

// sync brings the roll up to date.
func (l *roll) sync() {
	switch {
	case l.place == nil || len(l.log) > 4*len(l.nodes)+64:
		l.remake(nil, nil)
	case l.set == l.part.NodeSet() && l.kinds == l.part.Kinds():
	case l.crowded():
		l.remake(nil, nil)
	default:
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

// crowded reports whether most leaves that are known have no work any more, and may be gone.
func (l *roll) crowded() bool {
	live := 0
	for _, places := range l.works {
		live += yes(len(places) > 0)
	}
	return len(l.leaves) > 2*live+64
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
