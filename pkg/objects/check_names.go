package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkNames recounts the holds of each resource name.
func (c *recount) checkNames() error {
	p := c.p
	type count struct{ cluster, asks int }
	want := map[string]*count{}
	add := func(name string, by resources.Holder) {
		c := want[name]
		if c == nil {
			c = &count{}
			want[name] = c
		}
		if by == resources.Asks {
			c.asks++
		} else {
			c.cluster++
		}
	}
	for _, n := range p.nodes {
		for name := range p.Amounts(n.total).All() {
			add(name, resources.Cluster)
		}
	}
	for _, f := range p.foreign.byKey {
		for name := range f.Amounts.All() {
			add(name, resources.Cluster)
		}
	}
	for _, w := range p.conf.NodeSortPolicy.Weights {
		add(w.Resource, resources.Cluster)
	}
	for _, q := range p.queues {
		q.eachName(func(name string) { add(name, q.quota.HeldBy()) })
	}
	for s := range p.shapes.Shapes {
		for name := range s.Amounts().All() {
			add(name, resources.Asks)
		}
	}
	known, askOnly := 0, 0
	for k := range p.names.Len() {
		name := p.names.Name(resources.Index(k))
		if name == "" {
			continue
		}
		known++
		cluster, asks := p.names.HoldCounts(resources.Index(k))
		if c := want[name]; c == nil || *c != (count{cluster, asks}) {
			return fmt.Errorf("resource name %q is held by the cluster %d times and by asks %d times: it should be %v", name,
				cluster, asks, c)
		}
		if cluster == 0 {
			askOnly++
		}
	}
	if known != len(want) || askOnly != p.names.AskOnly() {
		return fmt.Errorf("%d resource names are in use, %d of them by asks alone; there are %d and %d", known,
			p.names.AskOnly(), len(want), askOnly)
	}
	return nil
}

// eachName yields the resource names in the settings of q, each as often as it occurs.
func (q *Queue) eachName(yield func(name string)) {
	eachQuotaName(q.conf.Max, q.conf.Guaranteed, yield)
	q.eachExtraName(yield)
	for _, s := range limits.Scopes(q.conf.ClassQuotas) {
		for i := range s.Quotas {
			for name := range s.Quotas[i].Hard.All() {
				if name != limits.Pods {
					yield(name)
				}
			}
		}
	}
}
