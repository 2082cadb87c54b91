package validation

import (
	"fmt"
	"iter"
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkGuarantees applies V22, V23 and V24 to the whole tree (CFG-48 to CFG-50).
func (r *Report) checkGuarantees(root *Queue) {
	r.checkGuaranteeTree(root, resources.Limit{}, root)
}

// checkGuaranteeTree checks a queue and the queues below it, and returns what the queue counts
// against its parent's guarantee: its own guarantee, or without one the sum of its
// children's. parentMax is the parent's effective max, limitingQueue the lowest queue above
// with a max. A percent is compared with nothing: percents are the resources of which a part of what is counted is a
// percent, so that the sum is not known (QUO-67).
//
// An excess that is reported is cut off, so that the queues above do not report it
// again.
func (r *Report) checkGuaranteeTree(q *Queue, parentMax resources.Limit,
	limitingQueue *Queue) (counted resources.Amounts, percents map[string]resources.Percent) {
	for name, n := range q.Max.All() {
		if most, ok := parentMax.Get(name); ok && n > most {
			r.Add(q.Subject, r.At(q.Queue, "resources", "max", name), "V23",
				fmt.Sprintf("max %s %s is more than the %s allowed above, by %s", name, resources.FormatQuantity(name, n),
					resources.FormatQuantity(name, most), limitingQueue.path()), "")
		}
	}
	effective := parentMax.Tighten(q.Max)
	if !q.Max.IsUnlimited() {
		limitingQueue = q
	}
	own := r.checkOwnGuarantee(q)
	var children resources.Amounts
	percents = map[string]resources.Percent{}
	for _, c := range q.Children {
		n, some := r.checkGuaranteeTree(c, effective, limitingQueue)
		children = children.Add(n)
		maps.Copy(percents, some)
	}
	known := children.Map()
	maps.DeleteFunc(known, func(name string, _ resources.Quantity) bool { return percents[name] > 0 })
	children = r.checkChildGuarantees(q, resources.FromMap(known), effective)
	if own.IsZero() && !q.Guaranteed.HasPercents() {
		return children, percents
	}
	return own, q.Guaranteed.PercentMap()
}

// checkOwnGuarantee applies V22 and returns the guarantee of q, cut off at its max.
func (r *Report) checkOwnGuarantee(q *Queue) resources.Amounts {
	own := q.Guaranteed.Map()
	for name, n := range q.Guaranteed.All() {
		if most, ok := q.Max.Get(name); ok && n > most {
			r.Add(q.Subject, r.At(q.Queue, "resources", "guaranteed", name), "V22",
				fmt.Sprintf("guaranteed %s %s is more than the queue's max %s",
					name, resources.FormatQuantity(name, n), resources.FormatQuantity(name, most)), "")
			own[name] = most
		}
	}
	return resources.FromMap(own)
}

// checkChildGuarantees applies V24 to the sum of the guarantees of the children of q. An
// explicit guarantee of zero counts as zero: the children cannot have any (CFG-50).
func (r *Report) checkChildGuarantees(
	q *Queue, sum resources.Amounts, effective resources.Limit,
) resources.Amounts {
	out := sum.Map()
	for name, n := range sum.All() {
		bound, what, key := resources.Quantity(0), "", "max"
		if most, ok := effective.Get(name); ok && n > most {
			bound, what = most, "effective max"
		}
		if own, ok := q.Guaranteed.Get(name); ok && n > own {
			bound, what, key = own, "guarantee of the queue itself", "guaranteed"
		}
		if what == "" {
			continue
		}
		r.Add(q.Subject, r.At(q.Queue, "resources", key, name), "V24",
			fmt.Sprintf("the children are guaranteed %s %s together, more than the %s, %s",
				name, resources.FormatQuantity(name, n), what, resources.FormatQuantity(name, bound)), "")
		out[name] = bound
	}
	return resources.FromMap(out)
}

// WarnGuarantees warns of guarantees of more than all nodes of a partition have together (CFG-135), and of what
// percents make of quotas (QUO-70). capacity is what they have, by partition and resource; a resource that no node has
// is warned of elsewhere (CFG-81).
func (r *Report) WarnGuarantees(partitions []*Partition, capacity map[string]map[string]resources.Quantity) {
	for _, p := range partitions {
		r.warnGuaranteeTree(p.Root, resources.FromMap(capacity[p.Name]))
		r.warnPercents(p, capacity[p.Name])
	}
}

// warnGuaranteeTree returns what q counts against the guarantee of its parent, and warns of the deepest queues that
// count more than capacity.
func (r *Report) warnGuaranteeTree(q *Queue, capacity resources.Amounts) resources.Amounts {
	var children resources.Amounts
	warned := map[string]bool{}
	for _, c := range q.Children {
		counted := r.warnGuaranteeTree(c, capacity)
		for name, n := range counted.All() {
			warned[name] = warned[name] || n > capacity.Get(name)
		}
		children = children.Add(counted)
	}
	counted, who := resources.FromMap(q.Guaranteed.Map()), "the queue is"
	if counted.IsZero() {
		counted, who = children, "the children are"
	}
	for name, n := range counted.All() {
		if most := capacity.Get(name); most > 0 && n > most && !warned[name] {
			r.Add(q.Subject, r.At(q.Queue, "resources", "guaranteed", name), "guarantee-beyond-nodes",
				fmt.Sprintf("%s guaranteed %s %s, and all nodes together have %s", who, name,
					resources.FormatQuantity(name, n), resources.FormatQuantity(name, most)),
				"right only if nodes are still to come; otherwise look at the unit")
		}
	}
	return counted
}

// isZero reports whether there are quantities that could be read, and all of them are zero.
func (r *Report) isZero(of any, all iter.Seq2[string, resources.Quantity]) bool {
	some := false
	for range all {
		some = true
	}
	bound, ok := of.(interface{ HasPercents() bool })
	return some && !isPositive(all) && !(ok && bound.HasPercents()) && !r.IsMisread(of)
}

// isPositive reports whether any quantity is above zero. Quantities are never negative.
func isPositive(all iter.Seq2[string, resources.Quantity]) bool {
	for _, n := range all {
		if n > 0 {
			return true
		}
	}
	return false
}
