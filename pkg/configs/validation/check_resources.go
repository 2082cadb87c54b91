package validation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkGuarantees applies V22, V23 and V24 to the whole tree (CFG-48 to CFG-50).
func (r *Report) checkGuarantees(root *QueueDraft) {
	r.checkGuaranteeTree(root, resources.Limit{}, root)
}

// checkGuaranteeTree checks a queue and the queues below it, and returns what the queue counts
// against its parent's guarantee: its own guarantee, or without one the sum of its
// children's. parentMax is the parent's effective max, limitingQueue the lowest queue above
// with a max.
//
// An excess that is reported is cut off, so that the queues above do not report it
// again.
func (r *Report) checkGuaranteeTree(q *QueueDraft, parentMax resources.Limit,
	limitingQueue *QueueDraft) resources.Amounts {
	for _, name := range sortedKeys(q.Max.N) {
		n := q.Max.N[name]
		if most, ok := parentMax.Get(name); ok && n > most {
			r.Add(q, q.Max.Positions[name], "V23", fmt.Sprintf("max %s %s is more than the %s allowed above, by %s",
				name, resources.FormatQuantity(name, n), resources.FormatQuantity(name, most), limitingQueue.path()), "")
		}
	}
	effective := parentMax.Tighten(resources.LimitFromMap(q.Max.N))
	if len(q.Max.N) > 0 {
		limitingQueue = q
	}
	own := r.checkOwnGuarantee(q)
	var children resources.Amounts
	for _, c := range q.Children {
		children = children.Add(r.checkGuaranteeTree(c, effective, limitingQueue))
	}
	children = r.checkChildGuarantees(q, children, effective)
	if own.IsZero() {
		return children
	}
	return own
}

// checkOwnGuarantee applies V22 and returns the guarantee of q, cut off at its max.
func (r *Report) checkOwnGuarantee(q *QueueDraft) resources.Amounts {
	own := maps.Clone(q.Guaranteed.N)
	for _, name := range sortedKeys(own) {
		if most, ok := q.Max.N[name]; ok && own[name] > most {
			r.Add(q, q.Guaranteed.Positions[name], "V22", fmt.Sprintf("guaranteed %s %s is more than the queue's max %s",
				name, resources.FormatQuantity(name, own[name]), resources.FormatQuantity(name, most)), "")
			own[name] = most
		}
	}
	return resources.FromMap(own)
}

// checkChildGuarantees applies V24 to the sum of the guarantees of the children of q. An
// explicit guarantee of zero counts as zero: the children cannot have any (CFG-50).
func (r *Report) checkChildGuarantees(
	q *QueueDraft, sum resources.Amounts, effective resources.Limit,
) resources.Amounts {
	out := sum.Map()
	for name, n := range sum.All() {
		bound, what := resources.Quantity(0), ""
		where := positionOr(q.Max.Positions[name], q.Position)
		if most, ok := effective.Get(name); ok && n > most {
			bound, what = most, "effective max"
		}
		if own, ok := q.Guaranteed.N[name]; ok && n > own {
			bound, what, where = own, "guarantee of the queue itself", q.Guaranteed.Positions[name]
		}
		if what == "" {
			continue
		}
		r.Add(q, where, "V24", fmt.Sprintf("the children are guaranteed %s %s together, more than the %s, %s",
			name, resources.FormatQuantity(name, n), what, resources.FormatQuantity(name, bound)), "")
		out[name] = bound
	}
	return resources.FromMap(out)
}

// WarnGuarantees warns of guarantees of more than all nodes of a partition have together (CFG-135). capacity is what
// they have, by partition and resource; a resource that no node has is warned of elsewhere (CFG-81).
func (r *Report) WarnGuarantees(partitions []*PartitionDraft, capacity map[string]map[string]resources.Quantity) {
	for _, p := range partitions {
		r.warnGuaranteeTree(p.Root, resources.FromMap(capacity[p.Name]))
	}
}

// warnGuaranteeTree returns what q counts against the guarantee of its parent, and warns of the deepest queues that
// count more than capacity.
func (r *Report) warnGuaranteeTree(q *QueueDraft, capacity resources.Amounts) resources.Amounts {
	var children resources.Amounts
	warned := map[string]bool{}
	for _, c := range q.Children {
		counted := r.warnGuaranteeTree(c, capacity)
		for name, n := range counted.All() {
			warned[name] = warned[name] || n > capacity.Get(name)
		}
		children = children.Add(counted)
	}
	counted, who := resources.FromMap(q.Guaranteed.N), "the queue is"
	if counted.IsZero() {
		counted, who = children, "the children are"
	}
	for name, n := range counted.All() {
		if most := capacity.Get(name); most > 0 && n > most && !warned[name] {
			r.Add(q, positionOr(q.Guaranteed.Positions[name], q.Position), "guarantee-beyond-nodes",
				fmt.Sprintf("%s guaranteed %s %s, and all nodes together have %s", who, name,
					resources.FormatQuantity(name, n), resources.FormatQuantity(name, most)),
				"right only if nodes are still to come; otherwise look at the unit")
		}
	}
	return counted
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
