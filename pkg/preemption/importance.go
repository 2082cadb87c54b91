package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// byImportance puts those first that should stay longest.
func byImportance(list []*objects.Allocation, r Right) {
	slices.SortFunc(list, func(a, b *objects.Allocation) int { return -compareImportance(a, b, r) })
}

// compareImportance is positive when a should stay rather than b. By priority, the number
// counts first; by other rights it is whether one agreed to leave, and whether it leads its
// application (P8). Among equals the older stays; the name settles the rest.
func compareImportance(a, b *objects.Allocation, r Right) int {
	number := cmp.Compare(a.Ask().Priority, b.Ask().Priority)
	kind := cmp.Or(
		cmp.Compare(yes(!a.Ask().Policy.Self()), yes(!b.Ask().Policy.Self())),
		cmp.Compare(yes(a.Ask().Originator), yes(b.Ask().Originator)),
	)
	older := cmp.Or(b.BoundAt().Compare(a.BoundAt()), cmp.Compare(b.Key(), a.Key()))
	switch r {
	case OfPriority:
		return cmp.Or(number, kind, older)
	case OfNode:
		return cmp.Or(kind, number, older)
	}
	return cmp.Or(kind, older)
}

func comparePriorities(a, b int32) int { return cmp.Compare(a, b) }

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
