package twin

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// quantities are names of resources with values.
type quantities = iter.Seq2[string, resources.Quantity]

// namesWithinLimit reports whether an ask, or the cluster, may name further resources. The bound for
// asks is lower.
func (t *Twin) namesWithinLimit(ask bool, wanted ...quantities) bool {
	cluster, asks := t.namedResources()
	all, askOnly := map[string]bool{}, map[string]bool{}
	for name := range cluster {
		all[name] = true
	}
	for name := range asks {
		all[name], askOnly[name] = true, !cluster[name]
	}
	newNames := 0
	for _, q := range wanted {
		for name := range q {
			if !all[name] {
				all[name] = true
				newNames++
			}
		}
	}
	if newNames == 0 {
		return true
	}
	before := 0
	for _, is := range askOnly {
		if is {
			before++
		}
	}
	return len(all) <= t.maxNames && (!ask || before+newNames <= t.maxAskNames)
}

// namedResources returns the resources named by the cluster (nodes, foreign allocations, the
// configuration), and by asks and applications.
func (t *Twin) namedResources() (cluster, asks map[string]bool) {
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
	for _, w := range t.allocations {
		put(asks, w.ask.Amounts.All())
	}
	var below func(q *queue)
	below = func(q *queue) {
		in := asks
		if q.managed {
			in = cluster
		}
		resourcesNamedBy(&q.conf, func(all quantities) { put(in, all) })
		for _, c := range q.children {
			below(c)
		}
	}
	below(t.root)
	if t.replacedConf != nil {
		resourcesNamedBy(t.replacedConf, func(all quantities) { put(asks, all) })
	}
	return cluster, asks
}

// resourcesNamedBy yields all resource names in the settings of a queue.
func resourcesNamedBy(conf *configs.Queue, yield func(quantities)) {
	yield(namesOfQuota(conf.Max))
	yield(namesOfQuota(conf.Guaranteed))
	for _, rule := range conf.Limits {
		yield(rule.MaxResources.All())
	}
	for i := range conf.ClassQuotas {
		hard := conf.ClassQuotas[i].Hard.Map()
		delete(hard, limits.Pods)
		yield(resources.LimitFromMap(hard).All())
	}
	if conf.ChildTemplate != nil {
		yield(namesOfQuota(conf.ChildTemplate.Max))
		yield(namesOfQuota(conf.ChildTemplate.Guaranteed))
	}
}
