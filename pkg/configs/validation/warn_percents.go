package validation

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/quota/percent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// warnPercents warns of what percents make of the quotas of a partition with the nodes that it has (QUO-70): what V22
// to V24 refuse if all quotas are written.
func (r *Report) warnPercents(p *Partition, capacity map[string]resources.Quantity) {
	if len(capacity) == 0 {
		return // nothing is known of nodes
	}
	all, some := percent.OfConfiguration(p.Root.Queue, capacity)
	if !some {
		return
	}
	quotas := make(map[*configs.Queue]*percent.Quotas[*configs.Queue], len(all))
	for i := range all {
		quotas[all[i].Queue] = &all[i]
	}
	r.warnPercentsBelow(p.Root, quotas, resources.Limit{})
}

// warnPercentsBelow warns of the queues below q. above is the tightest max in force there.
func (r *Report) warnPercentsBelow(q *Queue, quotas map[*configs.Queue]*percent.Quotas[*configs.Queue],
	above resources.Limit) {
	for _, c := range q.Children {
		e := quotas[c.Queue]
		if e == nil {
			continue
		}
		for _, x := range e.Reduced {
			r.warnPercent(c, "guaranteed", x.Resource, fmt.Sprintf("guaranteed %s is scaled down from %s to %s: it is more "+
				"than there is together with those beside it", x.Resource, resources.FormatQuantity(x.Resource, x.From),
				resources.FormatQuantity(x.Resource, x.To)))
		}
		for name, n := range e.Guaranteed.All() {
			if most, ok := e.Max.Get(name); ok && n > most && (hasPercent(c.Max, name) || isPercent(c.Guaranteed, name)) {
				r.warnPercent(c, "guaranteed", name, fmt.Sprintf("guaranteed %s is %s with these nodes, more than the queue's "+
					"max %s", name, resources.FormatQuantity(name, n), resources.FormatQuantity(name, most)))
			}
		}
		for name, n := range e.Max.All() {
			if most, ok := above.Get(name); ok && n > most {
				r.warnPercent(c, "max", name, fmt.Sprintf("max %s is %s, more than the %s that queues above allow with these "+
					"nodes", name, resources.FormatQuantity(name, n), resources.FormatQuantity(name, most)))
			}
		}
		r.warnPercentsBelow(c, quotas, above.Tighten(e.Max))
	}
}

func hasPercent(l resources.Limit, name string) bool {
	_, ok := l.Percent(name)
	return ok
}

func isPercent(g resources.Guarantee, name string) bool {
	_, ok := g.Percent(name)
	return ok
}

func (r *Report) warnPercent(q *Queue, key, resource, message string) {
	if !r.LimitReached("quota-percent") {
		r.Add(q.Subject, r.At(q.Queue, "resources", key, resource), "quota-percent", message, "")
	}
}
