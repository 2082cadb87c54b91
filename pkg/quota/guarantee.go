package quota

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The usage of a queue once preempting allocations are released, for preemption and for the enforcement of a max.

// AfterExpectedRelease returns the quantity of k that q uses without the expected releases.
func (q *Queue) AfterExpectedRelease(k resources.Index) resources.Quantity {
	return resources.SubSaturated(q.allocated.At(k), q.ExpectedRelease().At(k))
}

// AllocatedAfterPreemption returns, as a new vector, what q uses without its preempting allocations, overdue ones
// included.
func (q *Queue) AllocatedAfterPreemption() resources.Vector {
	v := slices.Clone(q.allocated)
	v.Sub(q.ExpectedRelease())
	v.Sub(q.OverdueRelease())
	return v
}

// Preempting returns, as a new vector, the part of Allocated that is marked for preemption and not released, overdue or
// not (QUE-43).
func (q *Queue) Preempting() (v resources.Vector) {
	v.Add(q.ExpectedRelease())
	v.Add(q.OverdueRelease())
	return v
}

// preemptingOf returns the quantity of k that preempting allocations use.
func (q *Queue) preemptingOf(k resources.Index) resources.Quantity {
	return q.ExpectedRelease().At(k) + q.OverdueRelease().At(k)
}

// WithinGuarantee reports whether q guarantees a resource that v has (guaranteed), and whether q with v more stays
// within its guarantee for some and for all of these resources. Expected releases do not count as used, nominated asks
// do (PRE-13, PRE-14, PRE-121).
func (q *Queue) WithinGuarantee(v resources.Vector) (guaranteed, inSome, inAll bool) {
	used := q.Planned()
	used.Add(v)
	inAll = true
	for k, n := range v {
		if g, ok := q.guaranteed.At(resources.Index(k)); ok && n > 0 {
			within := used.At(resources.Index(k)) <= g
			guaranteed, inSome, inAll = true, inSome || within, inAll && within
		}
	}
	return guaranteed, inSome, guaranteed && inAll
}

// Planned returns, as a new vector, what q uses without its expected releases, and with its nominated asks: what counts
// against its guarantee and its fair share (PRE-14, PRE-129).
func (q *Queue) Planned() resources.Vector {
	used := slices.Clone(q.allocated)
	used.Sub(q.ExpectedRelease())
	used.Add(q.nominated)
	return used
}

// OverGuarantee is a resource in which a queue would exceed its guarantee with an ask.
type OverGuarantee struct {
	Resource                    resources.Index
	Used, Requested, Guaranteed resources.Quantity
}

// OverGuarantee divides the resources of v that q guarantees into those in which q with v more exceeds its guarantee
// (over), and the others (within). nominated: v is of a nominated ask, so it counts as used already.
func (q *Queue) OverGuarantee(v resources.Vector, nominated bool) (over []OverGuarantee, within []resources.Index) {
	used := q.Planned()
	if nominated {
		used.Sub(v)
	}
	for i, n := range v {
		k := resources.Index(i)
		switch g, ok := q.guaranteed.At(k); {
		case !ok || n <= 0:
		case resources.AddSaturated(used.At(k), n) > g:
			over = append(over, OverGuarantee{k, used.At(k), n, g})
		default:
			within = append(within, k)
		}
	}
	return over, within
}

// BeyondGuarantee returns, as a new vector, the quantities of v in the resources in which q with v more exceeds its
// guarantee (PRE-121).
func (q *Queue) BeyondGuarantee(v resources.Vector) resources.Vector {
	beyond := make(resources.Vector, len(v))
	over, _ := q.OverGuarantee(v, false)
	for _, o := range over {
		beyond[o.Resource] = o.Requested
	}
	return beyond
}

// Excess returns, for each resource, what q uses above its max, without preempting allocations; zero where q is within
// its max.
func (q *Queue) Excess() (over resources.Vector) {
	for i := range q.max {
		k, left := q.max.Remaining(i, q.allocated)
		left += q.preemptingOf(k)
		if left < 0 {
			for len(over) <= int(k) {
				over = append(over, 0)
			}
			over[k] = -left
		}
	}
	return over
}

// ExceedsMax reports whether Excess is above zero.
func (q *Queue) ExceedsMax() bool {
	for i := range q.max {
		if k, left := q.max.Remaining(i, q.allocated); left < 0 && left+q.preemptingOf(k) < 0 {
			return true
		}
	}
	return false
}
