package preemption

// turn is a node to look at, and its rank: 0 for all where only names count.
type turn struct {
	rank  int64
	place int32
}

func (t turn) before(u turn) bool { return t.rank < u.rank || t.rank == u.rank && t.place < u.place }

// queueOfPlaces is a heap of turns. Most looks end long before they have met all places, so
// these are not sorted: the next one is found when it is due.
type queueOfPlaces []turn

// each yields the places in turn, each once.
func (q queueOfPlaces) each(yield func(place int) bool) {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
	for last := int32(-1); len(q) > 0; {
		place := q[0].place
		q[0] = q[len(q)-1]
		q = q[:len(q)-1]
		q.sink(0)
		if place == last {
			continue
		}
		if last = place; !yield(int(place)) {
			return
		}
	}
}

// sink puts the i-th in its place among those below it.
func (q queueOfPlaces) sink(i int) {
	for {
		first := 2*i + 1
		if first >= len(q) {
			return
		}
		if other := first + 1; other < len(q) && q[other].before(q[first]) {
			first = other
		}
		if !q[first].before(q[i]) {
			return
		}
		q[i], q[first] = q[first], q[i]
		i = first
	}
}
