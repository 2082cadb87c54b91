// Package percent computes the effective quotas of queues whose max or guaranteed are percents (QUO-63 to QUO-67).
//
// It knows no partition and no configuration: the caller says what the queues of a tree have configured and what the
// nodes have together, and gets the quotas that are in force then. It is pure.
package percent

import (
	"iter"
	"math/big"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Tree is a tree of queues with their configured quotas.
type Tree[Q comparable] struct {
	Root     Q
	Children func(Q) iter.Seq[Q] // the queues directly below, in any order
	// Configured returns the max and the guarantee of a queue as they are written; root has none.
	Configured func(Q) (resources.Limit, resources.Guarantee)
	// Capacity returns what all registered nodes have of a resource, cordoned ones included; at least 0.
	Capacity func(resource string) resources.Quantity
}

// Quotas are the effective quotas of a queue: without percents.
type Quotas struct {
	Max        resources.Limit
	Guaranteed resources.Guarantee
	// Reduced has the guaranteed quantities that were scaled down, by resource, as they would be otherwise; nil: none.
	Reduced map[string]resources.Quantity
}

// kind is one of the two quotas.
type kind int

const (
	ofMax kind = iota
	ofGuaranteed
)

// draft has the effective quantities of a queue by resource, as far as they differ from the written ones.
type draft struct {
	quantities [2]map[string]resources.Quantity // by kind
	reduced    map[string]resources.Quantity
}

// Effective returns the effective quotas of every queue with percents, and of those whose guarantee is scaled down. The
// quotas of the others are as they are written.
func (t *Tree[Q]) Effective() map[Q]Quotas {
	e := evaluation[Q]{tree: t, drafts: map[Q]*draft{}}
	for k, names := range e.percentNames(t.Root, [2]map[string]bool{{}, {}}) {
		for name := range names {
			e.kind, e.name = kind(k), name
			e.divide(t.Root, t.Capacity(name))
		}
	}
	out := make(map[Q]Quotas, len(e.drafts))
	for q, d := range e.drafts {
		most, least := t.Configured(q)
		out[q] = Quotas{d.max(most), d.guaranteed(least), d.reduced}
	}
	return out
}

func (d *draft) max(l resources.Limit) resources.Limit {
	return l.Effective(func(name string) resources.Quantity {
		if n, ok := d.quantities[ofMax][name]; ok {
			return n
		}
		n, _ := l.Get(name)
		return n
	})
}

func (d *draft) guaranteed(g resources.Guarantee) resources.Guarantee {
	return g.Effective(func(name string) resources.Quantity {
		if n, ok := d.quantities[ofGuaranteed][name]; ok {
			return n
		}
		n, _ := g.Get(name)
		return n
	})
}

// evaluation computes one kind of quota of one resource after the other.
type evaluation[Q comparable] struct {
	tree   *Tree[Q]
	drafts map[Q]*draft
	kind   kind
	name   string
}

// percentNames adds the resources of which a queue in or below q has a percent, by kind.
func (e *evaluation[Q]) percentNames(q Q, names [2]map[string]bool) [2]map[string]bool {
	most, least := e.tree.Configured(q)
	for name := range most.Percents() {
		names[ofMax][name] = true
	}
	for name := range least.Percents() {
		names[ofGuaranteed][name] = true
	}
	for child := range e.tree.Children(q) {
		e.percentNames(child, names)
	}
	return names
}

// part is what a queue has of the base: the nearest queue above that names the resource, or the nodes.
type part[Q comparable] struct {
	queue   Q
	n       resources.Quantity
	percent bool
}

// divide sets the quantities of the queues below q, of which base is the quantity: first of those whose base it is, as
// no queue between names the resource, then below each of them (QUO-64).
func (e *evaluation[Q]) divide(q Q, base resources.Quantity) {
	parts := e.partsBelow(q, base, nil)
	if e.kind == ofGuaranteed {
		e.scale(parts, base)
	}
	for _, x := range parts {
		if written, ok := e.written(x.queue); !ok || written != x.n {
			e.draft(x.queue).set(e.kind, e.name, x.n)
		}
		e.divide(x.queue, x.n)
	}
}

func (e *evaluation[Q]) partsBelow(q Q, base resources.Quantity, parts []part[Q]) []part[Q] {
	for child := range e.tree.Children(q) {
		if p, ok := e.percent(child); ok {
			parts = append(parts, part[Q]{child, p.Of(base), true})
		} else if n, ok := e.written(child); ok {
			parts = append(parts, part[Q]{child, n, false})
		} else {
			parts = e.partsBelow(child, base, parts)
		}
	}
	return parts
}

// scale reduces parts that are more than base together in proportion, rounded down, if one of them is a percent: what
// is written everywhere was checked when it was read (QUO-66).
func (e *evaluation[Q]) scale(parts []part[Q], base resources.Quantity) {
	sum, some := new(big.Int), false
	for _, x := range parts {
		sum.Add(sum, big.NewInt(int64(x.n)))
		some = some || x.percent
	}
	total := big.NewInt(int64(base))
	if !some || sum.Cmp(total) <= 0 {
		return
	}
	product := new(big.Int)
	for i := range parts {
		x := &parts[i]
		product.Mul(big.NewInt(int64(x.n)), total)
		reduced := resources.Quantity(product.Quo(product, sum).Int64())
		if reduced < x.n {
			d := e.draft(x.queue)
			if d.reduced == nil {
				d.reduced = map[string]resources.Quantity{}
			}
			d.reduced[e.name] = x.n
		}
		x.n = reduced
	}
}

func (e *evaluation[Q]) draft(q Q) *draft {
	d := e.drafts[q]
	if d == nil {
		d = &draft{}
		e.drafts[q] = d
	}
	return d
}

func (d *draft) set(k kind, name string, n resources.Quantity) {
	if d.quantities[k] == nil {
		d.quantities[k] = map[string]resources.Quantity{}
	}
	d.quantities[k][name] = n
}

func (e *evaluation[Q]) percent(q Q) (resources.Percent, bool) {
	most, least := e.tree.Configured(q)
	if e.kind == ofMax {
		return most.Percent(e.name)
	}
	return least.Percent(e.name)
}

func (e *evaluation[Q]) written(q Q) (resources.Quantity, bool) {
	most, least := e.tree.Configured(q)
	if e.kind == ofMax {
		return most.Get(e.name)
	}
	return least.Get(e.name)
}
