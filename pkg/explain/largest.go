package explain

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// largestRequest finds the most that the ask could request instead, while the nodes are surveyed (EXP-5).
type largestRequest struct {
	within       resources.Vector // the part of the request that no quota forbids
	best, buffer resources.Vector // best is empty while there is none
}

// beginLargest bounds the largest request by all quotas.
func (q *question) beginLargest() {
	requested := q.ask.Shape().Vector()
	within := append(resources.Vector(nil), requested...)
	for c := range q.ask.Application().Constraints().Each {
		for k := range within {
			if free, _, bounded := c.Availability(resources.Index(k)); bounded && requested[k] > 0 {
				within[k] = min(within[k], free)
			}
		}
	}
	q.largest.within = within
}

// offerLargest considers what is free on n. Requires: n accepts the ask, and other allocations allow it.
func (q *question) offerLargest(n *objects.Node) {
	l := &q.largest
	l.buffer = append(l.buffer[:0], l.within...)
	if q.clip(l.buffer, n) && q.isLarger(l.buffer, l.best) {
		l.best = append(l.best[:0], l.buffer...)
	}
}

// largestAmounts returns the largest request; zero: there is none, or it is all that the ask requests.
func (q *question) largestAmounts() (largest resources.Amounts) {
	if best := q.largest.best; len(best) > 0 && !best.Covers(q.ask.Shape().Vector()) {
		largest = q.part.Amounts(best)
	}
	return largest
}

// clip reduces part to what is free on n. It reports whether something is left of each requested resource.
func (q *question) clip(part resources.Vector, n *objects.Node) bool {
	for k, requested := range q.ask.Shape().Vector() {
		if requested <= 0 {
			continue
		}
		part[k] = min(part[k], q.part.Reservations().FreeFor(q.ask, n, resources.Index(k)))
		if part[k] <= 0 {
			return false
		}
	}
	return true
}

// isLarger reports whether a is preferred to b: the smallest part of a is larger; or they are equal, and a is larger in
// the first quantity that differs. So a request is never preferred to one that covers it.
func (q *question) isLarger(a, b resources.Vector) bool {
	if len(b) == 0 {
		return true
	}
	return cmp.Or(cmp.Compare(q.smallestPart(a), q.smallestPart(b)), slices.Compare(a, b)) > 0
}

// smallestPart returns the smallest part that v has of a requested quantity.
func (q *question) smallestPart(v resources.Vector) float64 {
	part := 1.0
	for k, requested := range q.ask.Shape().Vector() {
		if requested > 0 {
			part = min(part, float64(v[k])/float64(requested))
		}
	}
	return part
}
