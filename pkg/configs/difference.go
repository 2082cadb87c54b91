package configs

import (
	"reflect"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// Difference is the difference between two configurations of a partition. The time to find it grows
// with the configurations, the time to apply it only with the difference (ADR 44, CFG-107). It is
// immutable and may be made on any goroutine.
type Difference struct {
	from, to Partition
	Global   bool            // a setting differs on which any queue, application or node may depend
	Root     QueueDifference // of the queue tree
}

// QueueDifference is the difference of a queue and of the queues below it.
type QueueDifference struct {
	Conf        *Queue // the new settings; nil: it is removed from the configuration
	Name        string
	Added       bool              // it is new in the configuration
	OwnSettings bool              // its own settings differ
	TypeChanges bool              // it or a queue below it is new or changes its type (CFG-103)
	Size        int               // number of differences, this one included
	Children    []QueueDifference // with differences, in the order of the new configuration; then removed ones by name
}

// NewDifference compares two configurations of one partition. Requires: both are from queuesyaml.Load.
func NewDifference(from, to Partition) *Difference {
	return buildDifference(from, to, childDifferences(&from.Root, &to.Root))
}

func buildDifference(from, to Partition, below []QueueDifference) *Difference {
	d := &Difference{
		from: from, to: to,
		Global: from.PriorityDisabled != to.PriorityDisabled || from.PreemptionEnabled != to.PreemptionEnabled ||
			from.QuotaPreemptionEnabled != to.QuotaPreemptionEnabled ||
			!reflect.DeepEqual(from.NodeSortPolicy, to.NodeSortPolicy) ||
			!reflect.DeepEqual(from.ClassesNeedingQuota, to.ClassesNeedingQuota),
		Root: QueueDifference{Conf: &to.Root, Name: to.Root.Name, OwnSettings: !from.Root.SameSettings(&to.Root),
			Children: below},
	}
	d.Root.summarize(false)
	return d
}

// summarize sets size and typeChanges of d from its children. TypeChanges: d itself changes its type.
func (d *QueueDifference) summarize(typeChanges bool) {
	d.Size, d.TypeChanges = 1, typeChanges || d.Added
	for i := range d.Children {
		d.Size += d.Children[i].Size
		d.TypeChanges = d.TypeChanges || d.Children[i].TypeChanges
	}
}

// Empty reports whether no queue differs and no setting that any of them may depend on.
func (d *Difference) Empty() bool {
	return !d.Global && !d.Root.OwnSettings && len(d.Root.Children) == 0
}

// OrNew is the difference of conf to the configuration in force: d, if that was made of these two, otherwise a new
// one. d may be nil.
func (d *Difference) OrNew(inForce, conf Partition) *Difference {
	if d == nil || !sameSlice(d.from.Root.Children, inForce.Root.Children) ||
		!sameSlice(d.to.Root.Children, conf.Root.Children) {
		return NewDifference(inForce, conf)
	}
	return buildDifference(inForce, conf, d.Root.Children)
}

// sameSlice reports whether two lists are the same slice. Lists of a configuration are immutable.
func sameSlice(a, b []Queue) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func childDifferences(from, to *Queue) (out []QueueDifference) {
	if sameSlice(from.Children, to.Children) {
		return nil
	}
	var byName map[string]int // index in from.Children by name; made when a queue is at another index
	find := func(i int, name string) *Queue {
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
		d := QueueDifference{Conf: c, Name: c.Name}
		was := find(i, c.Name)
		if was == nil {
			d.Added = true
		} else {
			kept++
			d.OwnSettings = !was.SameSettings(c)
			d.Children = childDifferences(was, c)
		}
		if d.Added || d.OwnSettings || len(d.Children) > 0 {
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
			out = append(out, QueueDifference{Name: name, Size: 1})
		}
	}
	slices.SortFunc(out[present:], func(a, b QueueDifference) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// SameSettings reports whether the own settings of two queues are equal. A test changes every field in
// turn, so that no field is forgotten.
func (q *Queue) SameSettings(other *Queue) bool {
	return q.Name == other.Name && q.Parent == other.Parent && q.MaxApplications == other.MaxApplications &&
		q.Max.Equal(other.Max) && q.Guaranteed.Equal(other.Guaranteed) &&
		reflect.DeepEqual(&q.SubmitACL, &other.SubmitACL) && reflect.DeepEqual(&q.AdminACL, &other.AdminACL) &&
		SameList(q.Limits, other.Limits) && SameList(q.ClassQuotas, other.ClassQuotas) &&
		q.ChildTemplate.Equal(other.ChildTemplate) && q.Settings.Equal(&other.Settings)
}

// SameList reports whether two lists of limits or class quotas have equal members in the same order.
func SameList[T limits.Limit | limits.ClassQuota](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool { return reflect.DeepEqual(x, y) })
}

// Equal reports whether two templates are equal; nil: there is none.
func (t *ChildTemplate) Equal(other *ChildTemplate) bool {
	if t == other || t == nil || other == nil {
		return t == other
	}
	return t.MaxApplications == other.MaxApplications && t.Max.Equal(other.Max) &&
		t.Guaranteed.Equal(other.Guaranteed) && t.Settings.Equal(&other.Settings)
}
