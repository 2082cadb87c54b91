package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// postClassUsage counts x in the class quotas of its class (sign 1), or takes it out of them (sign
// -1). Requires: x has its shape and its class.
func (p *Partition) postClassUsage(x *Allocation, sign int) {
	if p.quotas.HasClassQuotas() {
		x.app.quota.PostClassUsage(p.PriorityClass(x), x.shape.Vector(), sign)
	}
}

// checkClassQuotas returns why class quotas reject an ask of a class; nil: they do not.
func (p *Partition) checkClassQuotas(a *Application, class string, amounts resources.Amounts) error {
	if !p.quotas.HasClassQuotas() {
		return nil
	}
	asked := p.names.Hold(amounts, resources.Asks)
	defer p.names.Release(asked, resources.Asks)
	return p.quotas.CheckClassQuotas(&a.quota, class, asked, p.names)
}

// CheckResize is the error of a class quota that does not allow the growth of x; nil: all allow it.
// An ask can always shrink (QUO-39).
func (p *Partition) CheckResize(x *Allocation, amounts resources.Amounts) error {
	if !p.quotas.HasClassQuotas() || checkQuantities(p.names, amounts, resources.Asks) != nil {
		return nil // no class quotas, or Resize returns the error
	}
	wanted := p.names.Hold(amounts, resources.Asks)
	defer p.names.Release(wanted, resources.Asks)
	growth := slices.Clone(wanted)
	growth.Sub(x.shape.Vector())
	return p.quotas.CheckGrowth(&x.app.quota, p.PriorityClass(x), growth, p.names)
}

// rebuildClassUsage counts all asks and allocations again after class quotas changed.
func (p *Partition) rebuildClassUsage() {
	p.quotas.ApplyClassQuotas(p.conf.ClassesNeedingQuota)
	for _, q := range p.queues {
		q.quota.ClearClassUsage()
	}
	for _, x := range p.allocations {
		p.postClassUsage(x, 1)
	}
}
