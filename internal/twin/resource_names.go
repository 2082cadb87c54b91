package twin

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// quantities are names of resources with something to each.
type quantities = iter.Seq2[string, resources.Quantity]

// mayName reports whether resources may be named by an ask, or by the cluster, beside all that
// is named already. Of what only asks name there may be less.
func (t *Twin) mayName(ask bool, wanted ...quantities) bool {
	cluster, asks := t.named()
	all, loose := map[string]bool{}, map[string]bool{}
	for name := range cluster {
		all[name] = true
	}
	for name := range asks {
		all[name], loose[name] = true, !cluster[name]
	}
	fresh := 0
	for _, q := range wanted {
		for name := range q {
			if !all[name] {
				all[name] = true
				fresh++
			}
		}
	}
	if fresh == 0 {
		return true
	}
	before := 0
	for _, is := range loose {
		if is {
			before++
		}
	}
	return len(all) <= t.names && (!ask || before+fresh <= t.askNames)
}

// named is which resources the cluster names (nodes, foreign allocations, the configuration),
// and which asks do, with what came with applications.
func (t *Twin) named() (cluster, asks map[string]bool) {
	cluster, asks = map[string]bool{}, map[string]bool{}
	put := func(in map[string]bool, q quantities) {
		for name := range q {
			in[name] = true
		}
	}
	for _, n := range t.nodes {
		put(cluster, n.total.All())
	}
	for _, f := range t.foreign {
		put(cluster, f.Amounts.All())
	}
	for _, w := range t.order.Weights {
		cluster[w.Resource] = true
	}
	for _, w := range t.work {
		put(asks, w.ask.Amounts.All())
	}
	var below func(q *queue)
	below = func(q *queue) {
		in := asks
		if q.managed {
			in = cluster
		}
		namedBy(&q.conf, func(all quantities) { put(in, all) })
		for _, c := range q.children {
			below(c)
		}
	}
	below(t.root)
	if t.former != nil {
		namedBy(t.former, func(all quantities) { put(asks, all) })
	}
	return cluster, asks
}

// namedBy yields all that the settings of a queue say of resources.
func namedBy(conf *configs.Queue, yield func(quantities)) {
	yield(conf.Max.All())
	yield(conf.Guaranteed.All())
	for _, rule := range conf.Limits {
		yield(rule.MaxResources.All())
	}
	for i := range conf.ClassQuotas {
		hard := conf.ClassQuotas[i].Hard.Map()
		delete(hard, limits.Pods)
		yield(resources.LimitFromMap(hard).All())
	}
	if conf.Template != nil {
		yield(conf.Template.Max.All())
		yield(conf.Template.Guaranteed.All())
	}
}
