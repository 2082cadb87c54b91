package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// classQuotaError is why class quotas reject an ask: its class needs a quota and none covers it
// (QUO-37), or one is exceeded (QUO-36). nil: they do not.
func (p *Partition) classQuotaError(a *Application, class string, amounts resources.Amounts) (err error) {
	if !p.quotas.hasClassQuotas {
		return nil
	}
	asked, covered := p.names.Hold(amounts, resources.Asks), false
	defer p.names.Release(asked, resources.Asks)
	p.eachClassQuota(a, class, func(c classQuotaRef) bool {
		covered = true
		err = p.quotaExceeded(c, class, asked, 1)
		return err == nil
	})
	if covered {
		return err
	}
	return p.quotaRequired(a, class)
}

// CheckResize is the error of a class quota that does not allow the growth of x; nil: all allow it.
// An ask can always shrink (QUO-39).
func (p *Partition) CheckResize(x *Allocation, amounts resources.Amounts) (err error) {
	if !p.quotas.hasClassQuotas || p.checkQuantities(amounts, resources.Asks) != nil {
		return nil // no class quotas, or Resize returns the error
	}
	wanted := p.names.Hold(amounts, resources.Asks)
	defer p.names.Release(wanted, resources.Asks)
	growth := slices.Clone(wanted)
	growth.Sub(x.shape.Vector())
	class := p.PriorityClass(x)
	p.eachClassQuota(x.app, class, func(c classQuotaRef) bool {
		err = p.quotaExceeded(c, class, growth, 0)
		return err == nil
	})
	return err
}

// quotaExceeded is the error of a class quota that more resources and pods would exceed; nil: they
// are within it.
func (p *Partition) quotaExceeded(c classQuotaRef, class string, more resources.Vector, pods int) error {
	var used classUsage
	if m := c.usage(); m != nil {
		used = *m
	}
	var asked, held, allowed []string
	over := func(name string, more, used, most resources.Quantity) {
		asked = append(asked, name+"="+resources.FormatQuantity(name, more))
		held = append(held, name+"="+resources.FormatQuantity(name, used))
		allowed = append(allowed, name+"="+resources.FormatQuantity(name, most))
	}
	for i := range c.hard.max {
		k, left := c.hard.max.Remaining(i, used.used)
		if n := more.At(k); n > max(0, left) {
			most, _ := c.hard.max.At(k)
			over(p.names.Name(k), n, used.used.At(k), most)
		}
	}
	if n := c.hard.pods; pods > 0 && c.hard.hasPods && resources.Quantity(used.pods+pods) > n {
		over(limits.Pods, resources.Quantity(pods), resources.Quantity(used.pods), n)
	}
	if len(asked) == 0 {
		return nil
	}
	subject := ""
	if c.id.userOrGroup != (UserOrGroup{}) {
		subject = " for " + c.id.userOrGroup.String()
	}
	return &priorities.Problem{Reason: priorities.ExceedsQuota, Class: class, Field: priorities.NameField, Text: fmt.Sprintf(
		"quota %s of queue %s%s: asked %s, used %s, allowed %s",
		c.id.quota, c.queue.path, subject, strings.Join(asked, " "), strings.Join(held, " "), strings.Join(allowed, " "))}
}

// quotaRequired is the error of an ask that no class quota covers and whose class needs one; nil:
// it needs none.
func (p *Partition) quotaRequired(a *Application, class string) error {
	var missing []string
	for _, s := range p.conf.ClassesNeedingQuota {
		if s.Matches(class) {
			missing = append(missing, "{"+s.String()+"}")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &priorities.Problem{Reason: priorities.NeedsQuota, Class: class, Field: priorities.NameField, Text: fmt.Sprintf(
		"insufficient quota to match these scopes: [%s]: no class quota of queue %s or those above counts it for user %s",
		strings.Join(missing, " "), a.queue.path, a.user.Name)}
}
