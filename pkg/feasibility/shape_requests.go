package feasibility

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// resourceRequests holds the quantities of one resource that shapes request.
type resourceRequests struct {
	amounts []resources.Quantity // above zero, ascending, each once
	upTo    []Mask               // upTo[i]: the shapes that request at most amounts[:i], or none
}

// add records that the shape of slot requests q. It replaces the request of the shape that had the slot before.
func (n *resourceRequests) add(slot int, q resources.Quantity) {
	from := 0 // the first of upTo that has slot
	if q > 0 {
		at, found := slices.BinarySearch(n.amounts, q)
		if !found {
			n.amounts = slices.Insert(n.amounts, at, q)
			n.upTo = slices.Insert(n.upTo, at+1, slices.Clone(n.upTo[at]))
		}
		from = at + 1
	}
	for i := range n.upTo {
		n.upTo[i].Set(slot, i >= from)
	}
}

// AddResources adds resourceRequests for new resource indexes. count is the number of indexes.
func (t *Table) AddResources(count int) {
	for k := len(t.requests); k < count; k++ {
		t.requests = append(t.requests, t.requestsOf(resources.Index(k)))
	}
}

func (t *Table) requestsOf(k resources.Index) resourceRequests {
	n := resourceRequests{upTo: []Mask{nil}}
	known := slices.Clone(t.shapes)
	slices.SortFunc(known, func(a, b *Shape) int { return cmp.Compare(requestOf(a, k), requestOf(b, k)) })
	for _, s := range known {
		if s != nil {
			n.add(s.slot, s.vector.At(k))
		}
	}
	return n
}

func requestOf(s *Shape, k resources.Index) resources.Quantity {
	if s == nil {
		return 0
	}
	return s.vector.At(k)
}

// DropExceeding removes from m the shapes that request more than left of k.
func (t *Table) DropExceeding(m Mask, k resources.Index, left resources.Quantity) {
	n := &t.requests[k]
	low, high := 0, len(n.amounts)
	if high == 0 || n.amounts[high-1] <= left { // the usual case; all slots in use are then in the last mask
		m.IntersectWith(n.upTo[high])
		return
	}
	for low < high {
		if mid := (low + high) / 2; n.amounts[mid] <= left {
			low = mid + 1
		} else {
			high = mid
		}
	}
	m.IntersectWith(n.upTo[low])
}
