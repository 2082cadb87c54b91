package objects

import (
	"reflect"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Difference is the difference between two configurations of a partition. The time to find it grows
// with the configurations, the time to apply it only with the difference (ADR 44, CFG-107). It is
// immutable and may be made on any goroutine.
type Difference struct {
	from, to configs.Partition
	global   bool            // a setting differs on which any queue, application or node may depend
	root     queueDifference // of the queue tree
}

// queueDifference is the difference of a queue and of the queues below it.
type queueDifference struct {
	conf        *configs.Queue // the new settings; nil: it is removed from the configuration
	name        string
	added       bool              // it is new in the configuration
	ownSettings bool              // its own settings differ
	typeChanges bool              // it or a queue below it is new or changes its type (CFG-103)
	size        int               // number of differences, this one included
	children    []queueDifference // with differences, in the order of the new configuration; then removed ones by name
}

// NewDifference compares two configurations of one partition. Requires: both are from queuesyaml.Load.
func NewDifference(from, to configs.Partition) *Difference {
	return buildDifference(from, to, childDifferences(&from.Root, &to.Root))
}

func buildDifference(from, to configs.Partition, below []queueDifference) *Difference {
	d := &Difference{
		from: from, to: to,
		global: from.PriorityDisabled != to.PriorityDisabled || from.PreemptionEnabled != to.PreemptionEnabled ||
			from.QuotaPreemptionEnabled != to.QuotaPreemptionEnabled ||
			!reflect.DeepEqual(from.NodeSortPolicy, to.NodeSortPolicy) ||
			!reflect.DeepEqual(from.ClassesNeedingQuota, to.ClassesNeedingQuota),
		root: queueDifference{conf: &to.Root, name: to.Root.Name, ownSettings: !sameQueue(&from.Root, &to.Root),
			children: below},
	}
	d.root.summarize(false)
	return d
}

// summarize sets size and typeChanges of d from its children. typeChanges: d itself changes its type.
func (d *queueDifference) summarize(typeChanges bool) {
	d.size, d.typeChanges = 1, typeChanges || d.added
	for i := range d.children {
		d.size += d.children[i].size
		d.typeChanges = d.typeChanges || d.children[i].typeChanges
	}
}

// Empty reports whether no queue differs and no setting that any of them may depend on.
func (d *Difference) Empty() bool {
	return !d.global && !d.root.ownSettings && len(d.root.children) == 0
}

// orNew is the difference of conf to the configuration in force: d, if that was made of these two, otherwise a new
// one. d may be nil.
func (d *Difference) orNew(inForce, conf configs.Partition) *Difference {
	if d == nil || !sameList(d.from.Root.Children, inForce.Root.Children) ||
		!sameList(d.to.Root.Children, conf.Root.Children) {
		return NewDifference(inForce, conf)
	}
	return buildDifference(inForce, conf, d.root.children)
}

// sameList reports whether two lists are the same slice. Lists of a configuration are immutable.
func sameList(a, b []configs.Queue) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func childDifferences(from, to *configs.Queue) (out []queueDifference) {
	if sameList(from.Children, to.Children) {
		return nil
	}
	var byName map[string]int // index in from.Children by name; made when a queue is at another index
	find := func(i int, name string) *configs.Queue {
		if i < len(from.Children) && from.Children[i].Name == name {
			return &from.Children[i]
		}
		if byName == nil {
			byName = make(map[string]int, len(from.Children))
			for i := range from.Children {
				byName[from.Children[i].Name] = i
			}
		}
		if i, ok := byName[name]; ok {
			return &from.Children[i]
		}
		return nil
	}
	kept := 0
	for i := range to.Children {
		c := &to.Children[i]
		d := queueDifference{conf: c, name: c.Name}
		was := find(i, c.Name)
		if was == nil {
			d.added = true
		} else {
			kept++
			d.ownSettings = !sameQueue(was, c)
			d.children = childDifferences(was, c)
		}
		if d.added || d.ownSettings || len(d.children) > 0 {
			d.summarize(was != nil && was.Parent != c.Parent)
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
	present := len(out)
	for i := range from.Children {
		if name := from.Children[i].Name; !wanted[name] {
			out = append(out, queueDifference{name: name, size: 1})
		}
	}
	slices.SortFunc(out[present:], func(a, b queueDifference) int { return strings.Compare(a.name, b.name) })
	return out
}

// sameQueue reports whether the own settings of two queues are equal. A test changes every field in
// turn, so that no field is forgotten.
func sameQueue(a, b *configs.Queue) bool {
	return a.Name == b.Name && a.Parent == b.Parent && a.MaxApplications == b.MaxApplications &&
		a.Max.Equal(b.Max) && a.Guaranteed.Equal(b.Guaranteed) &&
		sameACL(&a.SubmitACL, &b.SubmitACL) && sameACL(&a.AdminACL, &b.AdminACL) &&
		sameLimits(a.Limits, b.Limits) && sameClassQuotas(a.ClassQuotas, b.ClassQuotas) &&
		sameTemplate(a.ChildTemplate, b.ChildTemplate) && a.Settings.Equal(&b.Settings)
}

func sameACL(a, b *security.ACL) bool { return reflect.DeepEqual(a, b) }

func sameLimits(a, b []limits.Limit) bool {
	return slices.EqualFunc(a, b, func(x, y limits.Limit) bool { return reflect.DeepEqual(x, y) })
}

func sameClassQuotas(a, b []limits.ClassQuota) bool {
	return slices.EqualFunc(a, b, func(x, y limits.ClassQuota) bool { return reflect.DeepEqual(x, y) })
}

func sameTemplate(a, b *configs.ChildTemplate) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.MaxApplications == b.MaxApplications && a.Max.Equal(b.Max) && a.Guaranteed.Equal(b.Guaranteed) &&
		a.Settings.Equal(&b.Settings)
}
