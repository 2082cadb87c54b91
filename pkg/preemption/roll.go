package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// roll lists the nodes in ID order, and for each what would be free if the less important
// work on it was gone. It is brought up to date by what has changed, not made anew.
type roll struct {
	part  *objects.Partition
	nodes []*objects.Node
	place map[*objects.Node]int // in nodes
	tiers []tiers               // by place

	set   uint64 // of nodes, as Partition.NodeSet tells it
	made  int    // how often the list was made
	log   []int  // places whose tiers were renewed, since made
	queue []*objects.Allocation

	ranked uint64 // Effort.Ranked
}

// tiers are what the work on a node would free, priority by priority: freed[i] with all
// that is at most as important as upTo[i]. Who accepts no other node, or was told to leave,
// is not in it.
type tiers struct {
	upTo  []int32 // ascending
	freed []resources.Vector
}

// sync brings the roll up to date.
func (l *roll) sync() {
	if l.place == nil || l.set != l.part.NodeSet() || len(l.log) > 4*len(l.nodes)+64 {
		l.remake()
		return
	}
	for _, n := range l.part.TakeTouched() {
		i := l.place[n]
		l.renew(i)
		l.log = append(l.log, i)
	}
}

func (l *roll) remake() {
	l.part.TakeTouched() // all are looked at
	l.set, l.nodes = l.part.NodeSet(), l.part.Nodes()
	l.place, l.tiers, l.log = make(map[*objects.Node]int, len(l.nodes)), make([]tiers, len(l.nodes)), l.log[:0]
	l.made++
	for i, n := range l.nodes {
		l.place[n] = i
		l.renew(i)
	}
}

func (l *roll) renew(i int) {
	l.queue = l.queue[:0]
	for y := range l.nodes[i].EachWork {
		if y.Ask().RequiredNode == "" && !l.part.Leaving(y) {
			l.queue = append(l.queue, y)
		}
	}
	slices.SortFunc(l.queue, func(a, b *objects.Allocation) int {
		return cmp.Compare(a.Number(), b.Number())
	})
	t := &l.tiers[i]
	t.upTo = t.upTo[:0]
	for _, y := range l.queue {
		k := len(t.upTo)
		if k == 0 || t.upTo[k-1] != y.Number() {
			t.upTo = append(t.upTo, y.Number())
			if k++; k > len(t.freed) {
				t.freed = append(t.freed, nil)
			}
			t.freed[k-1] = t.freed[k-1][:0]
			if k > 1 {
				t.freed[k-1] = append(t.freed[k-1], t.freed[k-2]...)
			}
		}
		t.freed[k-1].Add(y.Shape().Vector())
	}
}
