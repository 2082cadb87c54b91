package victim

// rankedNode is the index of a node, and its rank: 0 for all nodes where only the index counts.
type rankedNode struct {
	rank  int64
	index int32
}

func (t rankedNode) less(u rankedNode) bool {
	return t.rank < u.rank || t.rank == u.rank && t.index < u.index
}

// nodeHeap is a min-heap of nodes by rank and index. Most searches end before they reach all nodes, so the nodes
// are not sorted in advance.
type nodeHeap []rankedNode

// each yields the indexes in order, each once. It consumes the heap.
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
		last = index
		if !yield(int(index)) {
			return
		}
	}
}

// siftDown restores the heap order below entry i.
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
