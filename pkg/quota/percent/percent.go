// Package percent computes the effective quotas of queues whose max or guaranteed are percents (QUO-63 to QUO-67).
//
// It knows no partition and no configuration: the caller says what the queues of a tree have configured and what the
// nodes have together, and gets the quotas that are in force then. It is pure.
package percent

import (
	"iter"
	"maps"
	"math/big"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Tree is a tree of queues with their configured quotas.
type Tree[Q any] struct {
	Root     Q
	Children func(Q) iter.Seq[Q] // the queues directly below, in any order
	// Configured returns the max and the guarantee of a queue as they are written; those of root do not count.
	Configured func(Q) (resources.Limit, resources.Guarantee)
	// Capacity returns what all registered nodes have of a resource, cordoned ones included; at least 0.
	Capacity func(resource string) resources.Quantity
}

// Quotas are the effective quotas of a queue: without percents.
type Quotas[Q any] struct {
	Queue      Q
	Max        resources.Limit
	Guaranteed resources.Guarantee
	Reduced    []Reduced // the guaranteed quantities that were scaled down, by resource; nil: none
}

// Reduced is a guaranteed quantity that was scaled down (QUO-66).
type Reduced struct {
	Resource string
	From, To resources.Quantity
}

// Effective returns the effective quotas of each queue below root, in the order of the tree, a queue before those below
// it. some reports whether a queue has percents: otherwise all quotas are as they are written.
func (t *Tree[Q]) Effective() (all []Quotas[Q], some bool) {
	e := evaluation[Q]{tree: t}
	e.add(t.Root, 0)
	e.evaluate()
	all = make([]Quotas[Q], 0, len(e.queues)-1)
	for i := 1; i < len(e.queues); i++ {
		all = append(all, e.quotasOf(i))
	}
	return all, len(e.resources) > 0
}

// evaluation is one computation of all quotas.
type evaluation[Q any] struct {
	tree      *Tree[Q]
	queues    []queue[Q]        // root first, each behind the one above it
	resources []*resourceQuotas // of one kind of quota and one resource
}

// queue is a queue of an evaluation.
type queue[Q any] struct {
	queue      Q
	above      int // index of the queue above; 0: root
	max        resources.Limit
	guaranteed resources.Guarantee
}

func (e *evaluation[Q]) add(q Q, above int) {
	at := len(e.queues)
	most, least := e.tree.Configured(q)
	e.queues = append(e.queues, queue[Q]{q, above, most, least})
	for child := range e.tree.Children(q) {
		e.add(child, at)
	}
}

// kind is one of the two quotas.
type kind bool

const (
	ofMax        kind = false
	ofGuaranteed kind = true
)

// written returns what a queue has of a resource; the quantity is that without a percent. ok is false if it does not
// name the resource.
func (q *queue[Q]) written(k kind, name string) (p resources.Percent, n resources.Quantity, ok bool) {
	quota := interface {
		Percent(name string) (resources.Percent, bool)
		Get(name string) (resources.Quantity, bool)
	}(&q.max)
	if k == ofGuaranteed {
		quota = &q.guaranteed
	}
	p, ok = quota.Percent(name)
	if !ok {
		n, ok = quota.Get(name)
	}
	return p, n, ok
}

// evaluate computes the quantities of each resource of which some queue has a percent.
func (e *evaluation[Q]) evaluate() {
	names := map[kind]map[string]bool{ofMax: {}, ofGuaranteed: {}}
	for i := range e.queues[1:] {
		for name := range e.queues[1+i].max.Percents() {
			names[ofMax][name] = true
		}
		for name := range e.queues[1+i].guaranteed.Percents() {
			names[ofGuaranteed][name] = true
		}
	}
	for _, k := range []kind{ofMax, ofGuaranteed} {
		for _, name := range slices.Sorted(maps.Keys(names[k])) {
			e.resources = append(e.resources, e.divide(k, name))
		}
	}
}

// resourceQuotas has the quotas of one kind and one resource, by index of the queue.
type resourceQuotas struct {
	kind  kind
	name  string
	parts []part
}

// part holds the share of a queue in its base: in the nearest queue above that names the resource, or in the nodes.
type part struct {
	named bool
	base  int // index of the base; 0: the nodes
	level int // of bases; 0: the nodes
	whole resources.Quantity
	n     resources.Quantity // whole, or less if that was scaled down

	// of all parts of which this one is the base
	sum     sum
	percent bool // one of them is a percent
}

// divide computes the quotas level by level: what a queue has is final before those of which it is the base (QUO-64).
func (e *evaluation[Q]) divide(k kind, name string) *resourceQuotas {
	r := &resourceQuotas{k, name, make([]part, len(e.queues))}
	r.parts[0].n = e.tree.Capacity(name)
	levels := 0
	for i := 1; i < len(e.queues); i++ {
		x, above := &r.parts[i], e.queues[i].above
		_, _, x.named = e.queues[i].written(k, name)
		x.base = above
		if above > 0 && !r.parts[above].named {
			x.base = r.parts[above].base
		}
		x.level = r.parts[x.base].level + 1
		levels = max(levels, x.level)
	}
	for level := 1; level <= levels; level++ {
		e.divideLevel(r, level)
	}
	return r
}

func (e *evaluation[Q]) divideLevel(r *resourceQuotas, level int) {
	for i := 1; i < len(r.parts); i++ {
		x := &r.parts[i]
		if !x.named || x.level != level {
			continue
		}
		base := &r.parts[x.base]
		p, n, _ := e.queues[i].written(r.kind, r.name)
		if p > 0 {
			n, base.percent = p.Of(base.n), true
		}
		x.whole, x.n = n, n
		base.sum.add(n)
	}
	if r.kind == ofMax {
		return
	}
	for i := range r.parts {
		if x := &r.parts[i]; x.named && x.level == level {
			x.scale(&r.parts[x.base])
		}
	}
}

// scale reduces x in proportion, rounded down, if the parts of base are more than it together and one of them is a
// percent: what is written everywhere was checked when it was read (QUO-66).
func (x *part) scale(base *part) {
	if base.percent && base.sum.exceeds(base.n) {
		x.n = base.sum.share(x.n, base.n)
	}
}

// sum is a sum of quantities, none negative, in 128 bits.
type sum struct{ high, low uint64 }

func (s *sum) add(n resources.Quantity) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, uint64(n), 0)
	s.high += carry
}

func (s *sum) exceeds(n resources.Quantity) bool { return s.high > 0 || s.low > uint64(n) }

// share returns n of s in proportion to what total is of s, rounded down. n and total must not exceed s.
func (s *sum) share(n, total resources.Quantity) resources.Quantity {
	high, low := bits.Mul64(uint64(n), uint64(total))
	if s.high == 0 { // high is less than s.low, as total is less than 2^63
		part, _ := bits.Div64(high, low, s.low)
		return resources.Quantity(part)
	}
	return resources.Quantity(new(big.Int).Quo(bigOf(high, low), bigOf(s.high, s.low)).Int64())
}

func bigOf(high, low uint64) *big.Int {
	x := new(big.Int).SetUint64(high)
	return x.Add(x.Lsh(x, 64), new(big.Int).SetUint64(low))
}

// quotasOf returns the quotas of the queue at index i.
func (e *evaluation[Q]) quotasOf(i int) Quotas[Q] {
	q := &e.queues[i]
	out := Quotas[Q]{Queue: q.queue, Max: q.max, Guaranteed: q.guaranteed}
	for _, r := range e.resources {
		if x := &r.parts[i]; x.n != x.whole {
			out.Reduced = append(out.Reduced, Reduced{r.name, x.whole, x.n})
		}
	}
	if q.max.HasPercents() {
		out.Max = q.max.Effective(func(name string) resources.Quantity { return e.quantity(i, ofMax, name) })
	}
	if q.guaranteed.HasPercents() || len(out.Reduced) > 0 {
		out.Guaranteed = q.guaranteed.Effective(func(name string) resources.Quantity {
			return e.quantity(i, ofGuaranteed, name)
		})
	}
	return out
}

func (e *evaluation[Q]) quantity(i int, k kind, name string) resources.Quantity {
	for _, r := range e.resources {
		if r.kind == k && r.name == name {
			return r.parts[i].n
		}
	}
	_, n, _ := e.queues[i].written(k, name)
	return n
}
