package preemption

// rankedNode is a node to look at, and its rank: 0 for all where only names count.
type rankedNode struct {
	rank  int64
	index int32
}

func (t rankedNode) less(u rankedNode) bool {
	return t.rank < u.rank || t.rank == u.rank && t.index < u.index
}

// nodeHeap is a heap of turns. Most looks end long before they have met all places, so
// these are not sorted: the next one is found when it is due.
type nodeHeap []rankedNode

// each yields the places in turn, each once.
func (q nodeHeap) each(yield func(index int) bool) {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.siftDown(i)
	}
	for last := int32(-1); len(q) > 0; {
		index := q[0].index
		q[0] = q[len(q)-1]
		q = q[:len(q)-1]
		q.siftDown(0)
		if index == last {
			continue
		}
		if last = index; !yield(int(index)) {
			return
		}
	}
}

// siftDown puts the i-th in its place among those below it.
func (q nodeHeap) siftDown(i int) {
	for {
		first := 2*i + 1
		if first >= len(q) {
			return
		}
		if other := first + 1; other < len(q) && q[other].less(q[first]) {
			first = other
		}
		if !q[first].less(q[i]) {
			return
		}
		q[i], q[first] = q[first], q[i]
		i = first
	}
}
