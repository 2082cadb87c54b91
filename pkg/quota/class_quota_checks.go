package quota

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// CheckClassQuotas returns an error if class quotas reject an ask of application a and a class for the resources asked:
// the class needs a quota and none covers it (QUO-37), or a quota is exceeded (QUO-36).
func (t *Tree) CheckClassQuotas(a *Application, class string, asked resources.Vector,
	names *resources.NameTable) (err error) {
	if !t.hasClassQuotas {
		return nil
	}
	covered := false
	a.eachClassQuota(class, func(c classQuotaRef) bool {
		covered = true
		err = c.exceededBy(class, asked, 1, names)
		return err == nil
	})
	if covered {
		return err
	}
	return t.quotaRequired(a, class)
}

// CheckGrowth returns an error if a class quota does not allow an ask or allocation of application a and a class to
// grow by growth. A quantity of zero or less is always allowed (QUO-39).
func (t *Tree) CheckGrowth(a *Application, class string, growth resources.Vector,
	names *resources.NameTable) (err error) {
	a.eachClassQuota(class, func(c classQuotaRef) bool {
		err = c.exceededBy(class, growth, 0, names)
		return err == nil
	})
	return err
}

// exceededBy returns an error if more resources and pods would exceed the class quota.
func (c *classQuotaRef) exceededBy(class string, more resources.Vector, pods int, names *resources.NameTable) error {
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
			over(names.Name(k), n, used.used.At(k), most)
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
	return &priorities.Problem{Reason: priorities.ExceedsQuota, Class: class, Field: priorities.NameField,
		Text: fmt.Sprintf(
			"quota %s of queue %s%s: asked %s, used %s, allowed %s",
			c.id.quota, c.queue.path, subject, strings.Join(asked, " "), strings.Join(held, " "), strings.Join(allowed, " "))}
}

// quotaRequired returns an error if the class of an ask needs a class quota and none covers the ask.
func (t *Tree) quotaRequired(a *Application, class string) error {
	var missing []string
	for _, s := range t.classesNeedingQuota {
		if s.Matches(class) {
			missing = append(missing, "{"+s.String()+"}")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &priorities.Problem{Reason: priorities.NeedsQuota, Class: class, Field: priorities.NameField, Text: fmt.Sprintf(
		"insufficient quota to match these scopes: [%s]: no class quota of queue %s or those above counts it for user %s",
		strings.Join(missing, " "), a.leaf.path, a.user.Name)}
}
