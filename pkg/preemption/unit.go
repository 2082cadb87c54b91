package preemption

import (
	"cmp"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// unit is what is taken whole or not at all: an allocation, or a group of them, wherever
// they run (priority.md 2.8).
type unit struct {
	lead    *objects.Allocation    // the first by key
	alone   [1]*objects.Allocation // it too
	group   []*objects.Allocation  // in key order; nil: lead alone
	number  int32                  // its priority: of a group that of its most important member
	opposed bool                   // one of them did not agree to leave
	leads   bool                   // one of them leads its application
	since   time.Time              // when the first of them began to run
	quality priorities.QoS         // the best of theirs, where that counts
	beyond  bool                   // a budget does not allow it to leave
}

// unitOf is what y falls with.
func (h *hunt) unitOf(y *objects.Allocation) unit {
	u := unit{
		lead: y, alone: [1]*objects.Allocation{y}, number: y.Number(), since: y.BoundAt(),
		opposed: !y.Ask().Policy.Self(), leads: y.Ask().Originator,
	}
	if h.quality {
		u.quality = priorities.QoSOf(y.Ask().Tags)
	}
	if !y.Grouped() {
		return u
	}
	group := h.part.Group(y)
	if len(group) == 1 {
		return u
	}
	u.lead, u.group = group[0], group
	for _, z := range group {
		u.number, u.opposed, u.leads = max(u.number, z.Number()), u.opposed || !z.Ask().Policy.Self(), u.leads || z.Ask().Originator
		if z.BoundAt().Before(u.since) {
			u.since = z.BoundAt()
		}
		if h.quality {
			u.quality = max(u.quality, priorities.QoSOf(z.Ask().Tags))
		}
	}
	return u
}

// members are the allocations of u. Read-only, and good as long as u stays where it is.
func (u *unit) members() []*objects.Allocation {
	if u.group == nil {
		return u.alone[:]
	}
	return u.group
}

// byImportance puts those first that should stay longest.
func (h *hunt) byImportance(list []unit) {
	slices.SortFunc(list, func(a, b unit) int { return -h.compareImportance(&a, &b) })
}

// compareImportance is positive when a should stay rather than b. By priority, the number
// counts first; by other rights it is whether one agreed to leave, and whether it leads its
// application (P8), and then the number, unless a guarantee is to be upheld as upstream does.
// Behind the number comes the quality of service, where that counts. Groups stay rather than
// single ones, and larger groups rather than smaller; among equals it is the older, and the
// name settles the rest.
func (h *hunt) compareImportance(a, b *unit) int {
	number := cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.quality, b.quality))
	kind := cmp.Or(cmp.Compare(yes(a.opposed), yes(b.opposed)), cmp.Compare(yes(a.leads), yes(b.leads)))
	switch {
	case h.right == OfPriority:
		kind, number = number, kind
	case h.compatible():
		number = 0
	}
	switch {
	case kind != 0:
		return kind
	case number != 0:
		return number
	case len(a.group) != len(b.group):
		return cmp.Compare(len(a.group), len(b.group))
	case !a.since.Equal(b.since):
		return b.since.Compare(a.since)
	}
	return cmp.Compare(b.lead.Key(), a.lead.Key()) // asked for last: it takes longest
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
