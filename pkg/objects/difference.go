package objects

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Difference is what one configuration of a partition has otherwise than another. To find it
// takes as long as the configurations are large; to apply it only as long as it is large itself
// (ADR 44). It never changes, and may be made on any goroutine.
type Difference struct {
	from, to configs.Partition
	far      bool       // settings differ that every queue, application or node may depend on
	root     difference // of the queue tree
}

// difference is what a queue has otherwise, or some queue below it.
type difference struct {
	conf  *configs.Queue // as it is from now on; nil: it is not in the configuration any more
	name  string
	added bool         // it was not in the configuration before
	own   bool         // something differs that the queue itself says
	kind  bool         // it, or a queue below, is new or of another kind, so something may be in the way
	size  int          // how many differences there are, this one included
	below []difference // the queues that differ or have such a queue below them, in the order of the new document; then those that are gone, by name
}

// NewDifference compares two configurations of the same partition. Requires: both came from
// configs.Load.
func NewDifference(from, to configs.Partition) *Difference {
	return newDifference(from, to, differencesBelow(&from.Root, &to.Root))
}

func newDifference(from, to configs.Partition, below []difference) *Difference {
	d := &Difference{
		from: from, to: to,
		far: from.IgnorePriority != to.IgnorePriority || from.Preemption != to.Preemption || from.QuotaPreemption != to.QuotaPreemption ||
			!reflect.DeepEqual(from.Nodes, to.Nodes) || !reflect.DeepEqual(from.NeedQuota, to.NeedQuota),
		root: difference{conf: &to.Root, name: to.Root.Name, own: !sameQueue(&from.Root, &to.Root), below: below},
	}
	d.root.sum(false)
	return d
}

// sum counts what is below d, and notes whether something of it may be in the way.
func (d *difference) sum(kind bool) {
	d.size, d.kind = 1, kind || d.added
	for i := range d.below {
		d.size += d.below[i].size
		d.kind = d.kind || d.below[i].kind
	}
}

// Empty reports whether no queue differs, and nothing that concerns all of them.
func (d *Difference) Empty() bool { return !d.far && !d.root.own && len(d.root.below) == 0 }

// differenceTo is what conf has otherwise than the configuration in force. prepared saves finding
// out, if it was made of these two; nil, or of others: it is not used.
func (p *Partition) differenceTo(conf configs.Partition, prepared *Difference) *Difference {
	if prepared == nil || !sameList(prepared.from.Root.Children, p.conf.Root.Children) || !sameList(prepared.to.Root.Children, conf.Root.Children) {
		return NewDifference(p.conf, conf)
	}
	return newDifference(p.conf, conf, prepared.root.below)
}

// sameList reports whether two lists are one and the same. What is in a list of a configuration
// never changes.
func sameList(a, b []configs.Queue) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func differencesBelow(from, to *configs.Queue) (out []difference) {
	if sameList(from.Children, to.Children) {
		return nil
	}
	var places map[string]int // in from.Children; made when a queue is not where it was
	find := func(i int, name string) *configs.Queue {
		if i < len(from.Children) && from.Children[i].Name == name {
			return &from.Children[i]
		}
		if places == nil {
			places = make(map[string]int, len(from.Children))
			for i := range from.Children {
				places[from.Children[i].Name] = i
			}
		}
		if i, ok := places[name]; ok {
			return &from.Children[i]
		}
		return nil
	}
	kept := 0
	for i := range to.Children {
		c := &to.Children[i]
		d := difference{conf: c, name: c.Name}
		was := find(i, c.Name)
		if was == nil {
			d.added = true
		} else {
			kept++
			d.own = !sameQueue(was, c)
			d.below = differencesBelow(was, c)
		}
		if d.added || d.own || len(d.below) > 0 {
			d.sum(was != nil && was.Parent != c.Parent)
			out = append(out, d)
		}
	}
	if kept == len(from.Children) {
		return out
	}
	wanted := make(map[string]bool, len(to.Children))
	for i := range to.Children {
		wanted[to.Children[i].Name] = true
	}
	stay := len(out)
	for i := range from.Children {
		if name := from.Children[i].Name; !wanted[name] {
			out = append(out, difference{name: name, size: 1})
		}
	}
	slices.SortFunc(out[stay:], func(a, b difference) int { return strings.Compare(a.name, b.name) })
	return out
}

// sameQueue reports whether two queues say the same, whatever is below them. A test changes every
// field in turn, so that a new one is not forgotten here.
func sameQueue(a, b *configs.Queue) bool {
	return a.Name == b.Name && a.Parent == b.Parent && a.MaxApplications == b.MaxApplications &&
		a.Max.Equal(b.Max) && a.Guaranteed.Equal(b.Guaranteed) &&
		sameACL(&a.Submit, &b.Submit) && sameACL(&a.Admin, &b.Admin) &&
		sameLimits(a.Limits, b.Limits) && sameClassQuotas(a.ClassQuotas, b.ClassQuotas) &&
		sameTemplate(a.Template, b.Template) && sameSettings(&a.Settings, &b.Settings)
}

func sameACL(a, b *security.ACL) bool { return reflect.DeepEqual(a, b) }

func sameLimits(a, b []limits.Rule) bool {
	return slices.EqualFunc(a, b, func(x, y limits.Rule) bool { return reflect.DeepEqual(x, y) })
}

func sameClassQuotas(a, b []limits.ClassQuota) bool {
	return slices.EqualFunc(a, b, func(x, y limits.ClassQuota) bool { return reflect.DeepEqual(x, y) })
}

func sameTemplate(a, b *configs.Template) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.MaxApplications == b.MaxApplications && a.Max.Equal(b.Max) && a.Guaranteed.Equal(b.Guaranteed) &&
		sameSettings(&a.Settings, &b.Settings)
}

func sameSettings(a, b *configs.Settings) bool {
	return a.Sort == b.Sort && a.PrioritySort == b.PrioritySort && a.Priority == b.Priority && a.Offset == b.Offset &&
		a.Preemption == b.Preemption && a.PrioritySwap == b.PrioritySwap && a.VictimUnit == b.VictimUnit &&
		a.GangPreemption == b.GangPreemption && a.Budgets == b.Budgets && a.VictimOrder == b.VictimOrder && a.VictimQoS == b.VictimQoS &&
		a.PreemptionDelay == b.PreemptionDelay && a.PriorityDelay == b.PriorityDelay && a.QuotaDelay == b.QuotaDelay &&
		a.Backoff == b.Backoff && a.BackoffDelay == b.BackoffDelay && maps.Equal(a.Properties, b.Properties)
}
