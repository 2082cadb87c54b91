package preemption

import (
	"cmp"
	"math"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// better reports whether a takes less than b. By priority it is, as in Kubernetes, the most
// important victim, then the sum of priorities, then the number of victims, then how long
// the most important of them have run (priority.md 2.4); by other rights whether anybody
// leaves who did not agree to, or who leads an application, and then the number.
// Last it is the name of the node.
func better(a, b Plan) bool {
	if a.Right == OfPriority {
		return cmp.Or(
			cmp.Compare(top(a), top(b)), cmp.Compare(sum(a), sum(b)),
			cmp.Compare(len(a.Victims), len(b.Victims)), cmp.Compare(oldest(b), oldest(a)), compareIDs(a.Node, b.Node),
		) < 0
	}
	return cmp.Or(
		cmp.Compare(reluctant(a), reluctant(b)), cmp.Compare(leaders(a), leaders(b)),
		cmp.Compare(len(a.Victims), len(b.Victims)), compareIDs(a.Node, b.Node),
	) < 0
}

// top is the priority of the most important victim; without victims it is below any.
func top(p Plan) int64 {
	if len(p.Victims) == 0 {
		return math.MinInt64
	}
	return int64(p.Victims[0].Ask().Priority)
}

// sum adds up the priorities, each counted from the lowest there is, so that every further
// victim weighs more than any difference between two.
func sum(p Plan) (total int64) {
	for _, y := range p.Victims {
		total += int64(y.Ask().Priority) + 1<<31
	}
	return total
}

// oldest is when the first of the most important victims began to run.
func oldest(p Plan) int64 {
	at := int64(math.MaxInt64)
	for _, y := range p.Victims {
		if int64(y.Ask().Priority) == top(p) {
			at = min(at, y.BoundAt().UnixNano())
		}
	}
	return at
}

func reluctant(p Plan) (any int) {
	for _, y := range p.Victims {
		any = max(any, yes(!y.Ask().Policy.Self()))
	}
	return any
}

func leaders(p Plan) (any int) {
	for _, y := range p.Victims {
		any = max(any, yes(y.Ask().Originator))
	}
	return any
}

func compareIDs(a, b *objects.Node) int { return cmp.Compare(a.ID(), b.ID()) }
