package usage

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// claim holds what a queue may claim of one resource of its parent. Neither is negative.
type claim struct {
	guaranteed int64
	demand     int64 // what it has and what is pending, up to its max
}

// split divides total among the claims (USG-4): each gets its guarantee as far as it has demand, in the same proportion
// if there is not enough; what is left goes in equal parts to those whose demand is not covered. The parts add up to
// total, or to the demand of all if that is less.
func split(total int64, claims []claim) []int64 {
	parts := make([]int64, len(claims))
	var guaranteed int64
	for i, c := range claims {
		parts[i] = min(c.guaranteed, c.demand)
		guaranteed = addSaturated(guaranteed, parts[i])
	}
	if guaranteed >= total {
		scaleDown(parts, total, guaranteed)
		return parts
	}
	left := total - guaranteed
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	uncovered := func(i int) int64 { return claims[i].demand - min(claims[i].guaranteed, claims[i].demand) }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(uncovered(i), uncovered(j)) })
	for n, i := range order {
		part := min(uncovered(i), left/int64(len(order)-n))
		parts[i] += part
		left -= part
	}
	return parts
}

// scaleDown multiplies parts with total/sum. What rounding leaves goes, one unit each, to the first parts that are
// above zero.
func scaleDown(parts []int64, total, sum int64) {
	left := total
	before := slices.Clone(parts)
	if sum == math.MaxInt64 { // it is saturated, by quantities that no cluster has
		sum = 0
		for i := range before {
			before[i] /= int64(len(parts))
			sum += before[i]
		}
	}
	for i, n := range before {
		if sum > 0 {
			hi, lo := bits.Mul64(uint64(n), uint64(total))
			q, _ := bits.Div64(hi, lo, uint64(sum))
			parts[i] = int64(q)
		}
		left -= parts[i]
	}
	for i := range parts {
		if left > 0 && parts[i] < before[i] {
			parts[i]++
			left--
		}
	}
}

func addSaturated(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}

// demand returns what q has and what is pending of a resource, as far as its max allows; never less than what it has.
func demand(q *scheduler.QueueView, name string) int64 {
	has := max(0, int64(q.Allocated.Get(name)))
	wants := addSaturated(has, max(0, int64(q.Pending.Get(name))))
	if m, ok := q.Max.Get(name); ok {
		wants = min(wants, int64(m))
	}
	return max(has, wants)
}

// Owed yields what each queue of a tree is owed (USG-4). Root is owed what is allocated in the partition; a queue
// divides what it is owed among its children.
func Owed(root *scheduler.QueueView, yield func(q *scheduler.QueueView, owed resources.Amounts)) {
	owedBelow(root, root.Allocated, yield)
}

func owedBelow(q *scheduler.QueueView, owed resources.Amounts,
	yield func(q *scheduler.QueueView, owed resources.Amounts)) {
	yield(q, owed)
	n := q.Children.Len()
	if n == 0 {
		return
	}
	children := make([]*scheduler.QueueView, 0, n)
	for child := range q.Children.All() {
		children = append(children, child)
	}
	parts := make([]map[string]resources.Quantity, n)
	claims := make([]claim, n)
	for name, total := range owed.All() {
		for i, child := range children {
			g, _ := child.Guaranteed.Get(name)
			claims[i] = claim{max(0, int64(g)), demand(child, name)}
		}
		for i, part := range split(max(0, int64(total)), claims) {
			if part == 0 {
				continue
			}
			if parts[i] == nil {
				parts[i] = map[string]resources.Quantity{}
			}
			parts[i][name] = resources.Quantity(part)
		}
	}
	for i, child := range children {
		owedBelow(child, resources.FromMap(parts[i]), yield)
	}
}
