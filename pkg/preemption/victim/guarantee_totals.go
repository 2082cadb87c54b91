package victim

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// guaranteeTotals sums up, for each queue with a guarantee, what the removed victims of a node hold in it. So the check
// whether a guarantee protects one more candidate costs the same however many victims there are (PRE-34).
type guaranteeTotals struct {
	queues  []guaranteeTotal
	indexOf map[*objects.Queue]int32 // in queues
	node    uint64                   // incremented for each node that is tried
}

// guaranteeTotal is the sum in one queue.
type guaranteeTotal struct {
	queue *objects.Queue
	freed resources.Vector
	node  uint64 // guaranteeTotals.node when freed was written; another one: nothing is freed
}

// beginSearch forgets all queues. The results of appendIndexes are no longer valid.
func (s *guaranteeTotals) beginSearch() {
	if s.indexOf == nil {
		s.indexOf = map[*objects.Queue]int32{}
	}
	clear(s.indexOf)
	s.queues = s.queues[:0]
}

// beginNode forgets all releases.
func (s *guaranteeTotals) beginNode() { s.node++ }

// appendIndexes appends to a list the indexes of the queues with a guarantee from leaf up to above, excluding above.
func (s *guaranteeTotals) appendIndexes(list []int32, leaf, above *objects.Queue) []int32 {
	for q := leaf; q != above; q = q.Parent() {
		if q.Guaranteed().IsEmpty() {
			continue
		}
		i, known := s.indexOf[q]
		if !known {
			i = int32(len(s.queues))
			s.indexOf[q] = i
			s.queues = slices.Grow(s.queues, 1)[:i+1]
			s.queues[i] = guaranteeTotal{queue: q, freed: s.queues[i].freed[:0]} // the memory of an earlier search
		}
		list = append(list, i)
	}
	return list
}

// release counts an allocation of a shape in some queues as released. It returns false, and counts nothing, if the
// guarantee of one of them protects the allocation.
func (s *guaranteeTotals) release(queues []int32, shape *feasibility.Shape) bool {
	for _, i := range queues {
		total := &s.queues[i]
		if total.node != s.node {
			clear(total.freed)
			total.node = s.node
		}
		if protectedAfterRelease(total.queue, shape, total.freed) {
			return false
		}
	}
	for _, i := range queues {
		s.queues[i].freed.Add(shape.Vector())
	}
	return true
}

// protectedAfterRelease is protectedBy for an allocation of shape s when freed is what the victims in q hold together.
func protectedAfterRelease(q *objects.Queue, s *feasibility.Shape, freed resources.Vector) bool {
	guaranteed := q.Quota().Guaranteed()
	for k, n := range s.Vector() {
		k := resources.Index(k)
		if g, ok := guaranteed.At(k); ok && n > 0 &&
			resources.SubSaturated(resources.SubSaturated(q.Quota().AfterExpectedRelease(k), n), freed.At(k)) < g {
			return true
		}
	}
	return false
}
