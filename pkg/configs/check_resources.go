package configs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkGuarantees applies V22, V23 and V24 to the whole tree.
func (r *report) checkGuarantees(root *queueDraft) {
	r.promised(root, resources.Limit{}, root)
}

// promised checks a queue and what is below it, and returns what the queue takes out
// of its parent's guarantee: its own, or without one that of its children. ceiling is
// the parent's effective max and tightest the queue that last had a say in it.
//
// An excess that is reported is cut off, so that the queues above do not report it
// again.
func (r *report) promised(q *queueDraft, ceiling resources.Limit, tightest *queueDraft) resources.Amounts {
	for _, name := range sortedKeys(q.max.n) {
		n := q.max.n[name]
		if most, ok := ceiling.Get(name); ok && n > most {
			r.add(q, q.max.places[name], "V23", fmt.Sprintf("max %s %s is more than the %s allowed above, by %s",
				name, resources.Text(name, n), resources.Text(name, most), tightest.path()), "")
		}
	}
	effective := ceiling.Tighten(resources.LimitFromMap(q.max.n))
	if len(q.max.n) > 0 {
		tightest = q
	}
	own := r.ownGuarantee(q)
	var children resources.Amounts
	for _, c := range q.children {
		children = children.Add(r.promised(c, effective, tightest))
	}
	children = r.childGuarantees(q, children, effective)
	if own.IsZero() {
		return children
	}
	return own
}

// ownGuarantee applies V22.
func (r *report) ownGuarantee(q *queueDraft) resources.Amounts {
	own := maps.Clone(q.guaranteed.n)
	for _, name := range sortedKeys(own) {
		if most, ok := q.max.n[name]; ok && own[name] > most {
			r.add(q, q.guaranteed.places[name], "V22", fmt.Sprintf("guaranteed %s %s is more than the queue's max %s",
				name, resources.Text(name, own[name]), resources.Text(name, most)), "")
			own[name] = most
		}
	}
	return resources.FromMap(own)
}

// childGuarantees applies V24 to the sum of what the children of q are guaranteed. A
// guarantee of zero is a real one: the children cannot have any (behaviour.md 1.5).
func (r *report) childGuarantees(
	q *queueDraft, sum resources.Amounts, effective resources.Limit,
) resources.Amounts {
	out := sum.Map()
	for name, n := range sum.All() {
		bound, what := resources.Quantity(0), ""
		where := placeOr(q.max.places[name], q.at)
		if most, ok := effective.Get(name); ok && n > most {
			bound, what = most, "max that holds here"
		}
		if own, ok := q.guaranteed.n[name]; ok && n > own {
			bound, what, where = own, "guarantee of the queue itself", q.guaranteed.places[name]
		}
		if what == "" {
			continue
		}
		r.add(q, where, "V24", fmt.Sprintf("the children are guaranteed %s %s together, more than the %s, %s",
			name, resources.Text(name, n), what, resources.Text(name, bound)), "")
		out[name] = bound
	}
	return resources.FromMap(out)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
