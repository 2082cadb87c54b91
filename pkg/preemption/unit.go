package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
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
	since   int64                  // when the first of them began to run, in nanoseconds
	quality priorities.QoS         // the best of theirs, where that counts
	beyond  bool                   // a budget does not allow it to leave
}

// unitOf is what y falls with.
func (h *hunt) unitOf(y *objects.Allocation) unit {
	if y.Grouped() {
		return h.groupOf(y).unit
	}
	return h.single(y)
}

// single is y alone, whoever it falls with.
func (h *hunt) single(y *objects.Allocation) unit {
	u := unit{
		lead: y, alone: [1]*objects.Allocation{y}, number: y.Number(), since: y.BoundAt().UnixNano(),
		opposed: !y.Ask().Policy.Self(), leads: y.Ask().Originator,
	}
	if h.quality {
		u.quality = priorities.QoSOf(y.Ask().Tags)
	}
	return u
}

// kin are allocations that fall together.
type kin struct {
	app   *objects.Application
	group string // empty: all of the application
}

// family is a group as one search finds it. An application may have thousands in it, so it
// is added up once.
type family struct {
	unit
	bound bool // one of them accepts no other node
}

// groupOf is the group of y. Requires: y is grouped, and was not told to leave.
func (h *hunt) groupOf(y *objects.Allocation) *family {
	key := kin{app: y.Application()}
	if key.app.Queue().Settings().VictimUnit == policies.UnitTaskGroup {
		key.group = y.Ask().TaskGroup
	}
	f := h.groups[key]
	if f != nil {
		return f
	}
	group := h.part.Group(y)
	f = &family{unit: h.single(group[0])}
	for _, z := range group {
		one := h.single(z)
		f.number, f.opposed, f.leads = max(f.number, one.number), f.opposed || one.opposed, f.leads || one.leads
		f.quality, f.bound = max(f.quality, one.quality), f.bound || z.Ask().RequiredNode != ""
		f.since = min(f.since, one.since)
	}
	if len(group) > 1 {
		f.group = group
	}
	if h.groups == nil {
		h.groups = map[kin]*family{}
	}
	h.groups[key] = f
	return f
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
	case a.since != b.since:
		return cmp.Compare(b.since, a.since)
	}
	return cmp.Compare(b.lead.Key(), a.lead.Key()) // asked for last: it takes longest
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
