package webservice

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The usage of users and groups, queue by queue, added up from the applications (LIM-31). As in YuniKorn, a
// user or a group that a limit names is listed without an application too; another group is listed when a
// wildcard limit makes applications count for it.
//
// The sums of a queue that is unchanged in the next snapshot are kept, and so are those of a user or a group
// that has the same applications and sums below.

// usages is the usage of all users, or of all groups, in a snapshot. It is immutable.
type usages struct {
	groups bool // usage of groups; else of users
	root   *queueUsages
}

// queueUsages are the usages in one queue.
type queueUsages struct {
	view     *scheduler.QueueView
	byName   []*queueUsage  // in name order
	children []*queueUsages // in path order
}

// queueUsage is the usage of one user or group in one queue, with the queues below.
type queueUsage struct {
	name     string
	path     string // of the queue
	used     resources.Amounts
	limit    limits.Bound                 // zero: none
	apps     []*scheduler.ApplicationView // in the queue itself
	children []*queueUsage                // in the queues below
}

// find returns the usage of a user or a group; nil: it has none.
func (u *usages) find(name string) *queueUsage {
	i, found := slices.BinarySearchFunc(u.root.byName, name,
		func(n *queueUsage, name string) int { return cmp.Compare(n.name, name) })
	if !found {
		return nil
	}
	return u.root.byName[i]
}

// sumUsages is the usage in a snapshot. last is that in an earlier one; nil: there is none.
func sumUsages(snap *scheduler.Snapshot, groups bool, last *usages, slot *cpushare.Slot) *usages {
	s := &usageSummer{groups: groups, named: true, slot: slot, index: map[string]int{}}
	var before *queueUsages
	if last != nil {
		before = last.root
	}
	return &usages{groups, s.queue(snap.Root, before)}
}

// usageSummer adds up usages. Its fields but the first three are scratch, for one queue at a time.
type usageSummer struct {
	groups bool
	named  bool // those that a limit names are listed without an application too
	slot   *cpushare.Slot

	index map[string]int // positions in found, by name
	found []foundUsage
	total resources.Total
}

// foundUsage is what a user or a group has in a queue.
type foundUsage struct {
	name     string
	apps     []*scheduler.ApplicationView
	children []*queueUsage
}

// queue adds up the usages in q. before is the same queue in the previous snapshot; nil: it was not in it.
func (s *usageSummer) queue(q *scheduler.QueueView, before *queueUsages) *queueUsages {
	s.slot.Yield()
	if before != nil && before.view == q {
		return before
	}
	x := &queueUsages{view: q}
	if n := q.Children.Len(); n > 0 {
		x.children = make([]*queueUsages, 0, n)
	}
	at := 0
	for child := range q.Children.All() {
		var old *queueUsages
		if before != nil {
			for at < len(before.children) && before.children[at].view.Path < child.Path {
				at++
			}
			if at < len(before.children) && before.children[at].view.Path == child.Path {
				old = before.children[at]
			}
		}
		x.children = append(x.children, s.queue(child, old))
	}
	s.gather(x)
	if len(s.found) > 0 {
		x.byName = make([]*queueUsage, 0, len(s.found))
	}
	at = 0
	for i := range s.found {
		s.slot.Yield()
		f := &s.found[i]
		var old *queueUsage
		if before != nil {
			for at < len(before.byName) && before.byName[at].name < f.name {
				at++
			}
			if at < len(before.byName) && before.byName[at].name == f.name {
				old = before.byName[at]
			}
		}
		x.byName = append(x.byName, s.sum(q, f, old))
	}
	return x
}

// gather fills s.found, in name order, with the users or groups of a queue.
func (s *usageSummer) gather(x *queueUsages) {
	clear(s.index)
	s.found = s.found[:0]
	for a := range x.view.Applications.All() {
		s.slot.Yield()
		if name := s.userOrGroup(a); name != "" {
			f := s.of(name)
			f.apps = append(f.apps, a)
		}
	}
	for _, child := range x.children {
		for _, below := range child.byName {
			s.slot.Yield()
			f := s.of(below.name)
			f.children = append(f.children, below)
		}
	}
	rules := x.view.LimitRules
	if !s.named {
		rules = nil
	}
	for _, rule := range rules.All() {
		names := rule.Users
		if s.groups {
			names = rule.Groups
		}
		for _, name := range names {
			s.slot.Yield()
			if name != limits.Wildcard && name != "" {
				s.of(name)
			}
		}
	}
	compared := 0
	slices.SortFunc(s.found, func(a, b foundUsage) int {
		compared++
		if compared%64 == 0 {
			s.slot.Yield()
		}
		return cmp.Compare(a.name, b.name)
	})
}

// of returns the entry of a user or a group in s.found. It is valid until the next call.
func (s *usageSummer) of(name string) *foundUsage {
	i, ok := s.index[name]
	if !ok {
		i = len(s.found)
		s.index[name] = i
		if i == cap(s.found) {
			s.found = append(s.found, foundUsage{})
		}
		s.found = s.found[:i+1]
		f := &s.found[i] // its lists are used again
		f.name, f.apps, f.children = name, f.apps[:0], f.children[:0]
	}
	return &s.found[i]
}

// sum is the usage of f in q: that of the previous snapshot if it is the same.
func (s *usageSummer) sum(q *scheduler.QueueView, f *foundUsage, before *queueUsage) *queueUsage {
	var limit limits.Bound
	if rule, ok := s.rule(q.LimitRules, f.name); ok {
		limit = rule.Bound()
	}
	if before != nil && slices.Equal(before.apps, f.apps) && slices.Equal(before.children, f.children) &&
		before.limit.Equal(limit) {
		return before
	}
	s.total.Reset()
	for _, a := range f.apps {
		s.total.Add(a.Allocated)
		s.total.Add(a.Placeholders)
	}
	for _, child := range f.children {
		s.total.Add(child.used)
	}
	return &queueUsage{
		name: f.name, path: string(q.Path), used: s.total.Amounts(), limit: limit,
		apps: slices.Clone(f.apps), children: slices.Clone(f.children),
	}
}

// userOrGroup is the user or the group that the application counts for; empty: none.
func (s *usageSummer) userOrGroup(a *scheduler.ApplicationView) string {
	if s.groups {
		return a.LimitGroup
	}
	return a.User.Name
}

func (s *usageSummer) rule(rules *limits.Index, name string) (limits.Limit, bool) {
	if s.groups {
		return rules.ForGroup(name)
	}
	return rules.ForUser(name)
}
