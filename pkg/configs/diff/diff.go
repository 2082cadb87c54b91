// Package diff compares two configurations: Compare returns a Change, a value with each partition, queue,
// limit, priority class and disruption budget that is created, removed or changed, in effective values
// and in the spelling of queues.yaml.
//
// It compares settings only. What a change means for the applications and allocations of a cluster is
// for package plan.
//
// Invariant: Compare(a, b) is empty if and only if Compare(b, a) is, and has as many created objects as
// Compare(b, a) has removed ones.
package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Change is the difference between two configurations (CFG-125). It does not depend on the state
// of a cluster. Documents that differ only in comments, spelling of quantities or order of keys
// have an empty Change. The JSON names are a public interface and stay.
type Change struct {
	Partitions []PartitionChange `json:"partitions"` // in name order; unchanged partitions are left out
	Classes    []ObjectChange    `json:"priorityclasses,omitempty"`
	Budgets    []ObjectChange    `json:"disruptionbudgets,omitempty"`
}

// PartitionChange is the difference between two configurations of one partition.
type PartitionChange struct {
	Partition string        `json:"partition"`
	Kind      Kind          `json:"kind"`
	Settings  []ValueChange `json:"settings,omitempty"` // of the partition itself
	Queues    []QueueChange `json:"queues,omitempty"`   // in path order
	Limits    []LimitChange `json:"limits,omitempty"`   // by path, then users before groups, then name
}

// QueueChange is the difference between two configurations of one queue.
type QueueChange struct {
	Queue  string        `json:"queue"` // the path
	Kind   Kind          `json:"kind"`
	Values []ValueChange `json:"values,omitempty"` // empty for a removed queue
}

// LimitChange is the difference for a user or a group that the limits of a queue name. Values
// are effective: they are combined with the limits of the queues above, and a user that is not
// named has those of the wildcard. So it is created where nothing bounded the user or group before.
// If it is named on one side only, unchanged values are listed too.
type LimitChange struct {
	Queue  string        `json:"queue"`
	Kind   Kind          `json:"kind"`
	User   string        `json:"user,omitempty"`  // "*": every user not named
	Group  string        `json:"group,omitempty"` // if User is empty; "*": every group not named
	Values []ValueChange `json:"values,omitempty"`
}

// ValueChange is a value before and after, both as queues.yaml writes them; empty: not set,
// which for a max is unlimited.
type ValueChange struct {
	Name      string `json:"name"` // max vcore, priority.offset, submitacl, ...
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	Inherited bool   `json:"inherited,omitempty"` // it changes only because a queue above changes
}

// Kind is whether an object is created, removed or changed. The values are those of the JSON form.
type Kind string

// The kinds of changes.
const (
	Created Kind = "created"
	Removed Kind = "removed" // a queue or partition drains, and is removed when it is empty
	Changed Kind = "changed"
)

// IsEmpty reports whether nothing changes.
func (c Change) IsEmpty() bool { return len(c.Partitions)+len(c.Classes)+len(c.Budgets) == 0 }

// Count returns how many queues, and how many limits of users and groups, have a change of a kind.
func (c Change) Count(kind Kind) (queues, limits int) {
	for _, p := range c.Partitions {
		queues += countKind(p.Queues, kind)
		limits += countKind(p.Limits, kind)
	}
	return queues, limits
}

func (q QueueChange) kind() Kind  { return q.Kind }
func (l LimitChange) kind() Kind  { return l.Kind }
func (o ObjectChange) kind() Kind { return o.Kind }

func countKind[T interface{ kind() Kind }](all []T, kind Kind) (n int) {
	for _, x := range all {
		if x.kind() == kind {
			n++
		}
	}
	return n
}

// Summary counts the changes by kind: "2 queues created, 1 queue changed, 1 limit changed".
func (c Change) Summary() string {
	if c.IsEmpty() {
		return "nothing changes"
	}
	partitions := map[Kind]int{}
	for _, p := range c.Partitions {
		if p.Kind != Changed || len(p.Settings) > 0 {
			partitions[p.Kind]++
		}
	}
	var parts []string
	for _, x := range []struct {
		one, many string
		count     func(Kind) int
	}{
		{"partition", "partitions", func(k Kind) int { return partitions[k] }},
		{"queue", "queues", func(k Kind) int { queues, _ := c.Count(k); return queues }},
		{"limit", "limits", func(k Kind) int { _, limits := c.Count(k); return limits }},
		{"priority class", "priority classes", func(k Kind) int { return countKind(c.Classes, k) }},
		{"disruption budget", "disruption budgets", func(k Kind) int { return countKind(c.Budgets, k) }},
	} {
		for _, k := range []Kind{Created, Removed, Changed} {
			switch n := x.count(k); n {
			case 0:
			case 1:
				parts = append(parts, fmt.Sprintf("1 %s %s", x.one, k))
			default:
				parts = append(parts, fmt.Sprintf("%d %s %s", n, x.many, k))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// Compare is the Change from old to new. A nil configuration is empty, so everything in the other
// is created or removed.
func Compare(old, new *configs.Config) Change { return CompareAndYield(old, new, func() {}) }

// CompareAndYield is Compare that calls yield for each queue, user and group. yield may end it by a panic.
func CompareAndYield(old, new *configs.Config, yield func()) Change {
	was, is := partitionsByName(old), partitionsByName(new)
	out := Change{Partitions: []PartitionChange{}}
	out.Classes, out.Budgets = compareObjects(old, new)
	for _, name := range keysOfBoth(was, is) {
		d := &treeDiff{yield: yield, spelling: spelling{old, new}}
		if p := d.comparePartitions(was[name], is[name]); !p.isEmpty() {
			p.Partition = name
			out.Partitions = append(out.Partitions, *p)
		}
	}
	return out
}

// keysOfBoth returns the keys of two maps in order.
func keysOfBoth[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func partitionsByName(c *configs.Config) map[string]*configs.Partition {
	out := map[string]*configs.Partition{}
	if c != nil {
		for i := range c.Partitions {
			out[c.Partitions[i].Name] = &c.Partitions[i]
		}
	}
	return out
}

func (p *PartitionChange) isEmpty() bool {
	return p.Kind == Changed && len(p.Settings)+len(p.Queues)+len(p.Limits) == 0
}

// comparePartitions compares partitions; nil: the partition does not exist on that side.
func (d *treeDiff) comparePartitions(old, new *configs.Partition) *PartitionChange {
	out := &d.out
	out.Kind = kindOf(old, new)
	before, after := &diffQueue{}, &diffQueue{}
	if old != nil {
		before.q = &old.Root
	}
	if new != nil {
		after.q = &new.Root
		out.Settings = d.diff(partitionValues(old), partitionValues(new), nil, nil)
	}
	d.compareQueues(configs.RootQueue, before, after)
	slices.SortStableFunc(out.Queues, func(a, b QueueChange) int { return strings.Compare(a.Queue, b.Queue) })
	slices.SortFunc(out.Limits, func(a, b LimitChange) int { // no two are of the same queue and name
		d.yield()
		if a.Queue != b.Queue {
			return strings.Compare(a.Queue, b.Queue)
		}
		if (a.Group == "") != (b.Group == "") { // users come first
			return strings.Compare(a.Group, b.Group)
		}
		return cmp.Or(strings.Compare(a.User, b.User), strings.Compare(a.Group, b.Group))
	})
	return out
}

func kindOf[T any](old, new *T) Kind {
	switch {
	case old == nil:
		return Created
	case new == nil:
		return Removed
	}
	return Changed
}
