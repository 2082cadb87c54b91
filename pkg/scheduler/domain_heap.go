package scheduler

import (
	"container/heap"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
)

// domainSlots is a domain, its position among the others, and at least how many members it takes.
type domainSlots struct {
	domain *gangscheduling.TopologyDomain
	number int
	slots  int
}

// before reports whether x has more slots than y, or as many and is the first.
func (x domainSlots) before(y domainSlots) bool {
	return x.slots > y.slots || x.slots == y.slots && x.domain != nil && x.number < y.number
}

// domainHeap has the domain first that may take most members.
type domainHeap struct{ all []domainSlots }

// newDomainHeap is a heap of domains for members.
func newDomainHeap(domains []*gangscheduling.TopologyDomain, members []gangscheduling.MemberGroup) *domainHeap {
	h := &domainHeap{make([]domainSlots, 0, len(domains))}
	for i, d := range domains {
		h.all = append(h.all, domainSlots{d, i, slotsFor(d, members)})
	}
	heap.Init(h)
	return h
}

// domains are the domains of h in their order.
func (h *domainHeap) domains() (all []*gangscheduling.TopologyDomain) {
	inOrder := slices.SortedFunc(slices.Values(h.all), func(x, y domainSlots) int { return x.number - y.number })
	for _, x := range inOrder {
		all = append(all, x.domain)
	}
	return all
}

func (h *domainHeap) remove(d *gangscheduling.TopologyDomain) {
	heap.Remove(h, slices.IndexFunc(h.all, func(x domainSlots) bool { return x.domain == d }))
}

func (h *domainHeap) Len() int           { return len(h.all) }
func (h *domainHeap) Less(i, j int) bool { return h.all[i].before(h.all[j]) }
func (h *domainHeap) Swap(i, j int)      { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *domainHeap) Push(x any)         { h.all = append(h.all, x.(domainSlots)) }
func (h *domainHeap) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	return last
}
