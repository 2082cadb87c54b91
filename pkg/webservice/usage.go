package webservice

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The usage of users and groups, queue by queue, added up from the applications (LIM-31). As in YuniKorn, a user or a
// group that a limit names is listed without an application too; another group is listed when a wildcard limit makes
// applications count for it.

// queueUsage is the usage of one user or group in one queue, with the queues below.
type queueUsage struct {
	name     string
	path     string // of the queue
	used     resources.Amounts
	limit    limits.Bound                 // zero: none
	apps     []*scheduler.ApplicationView // in the queue and those below
	children []*queueUsage                // in the queues below
}

// usageSummer adds up usages of users or of groups.
type usageSummer struct {
	groups bool
	only   string // the one whose usage is wanted; empty: all
	slot   *cpushare.Slot
	active bool // leaves out who is named by a limit and has no application
}

// sumUsages returns the usages of all users, or of all groups, in name order; with only, of that one.
func sumUsages(snap *scheduler.Snapshot, groups bool, only string, slot *cpushare.Slot) []*queueUsage {
	return usageSummer{groups: groups, only: only, slot: slot}.sorted(snap.Root)
}

// sorted returns the usages in root and below in the order of their names.
func (s usageSummer) sorted(root *scheduler.QueueView) []*queueUsage {
	byName := s.queue(root)
	all := make([]*queueUsage, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s.slot.Yield()
		all = append(all, byName[name])
	}
	return all
}

// queue returns the usages in q by name.
func (s usageSummer) queue(q *scheduler.QueueView) map[string]*queueUsage {
	found, totals := map[string]*queueUsage{}, map[string]*resources.Total{}
	of := func(name string) *queueUsage {
		s.slot.Yield()
		if name == "" || s.only != "" && name != s.only {
			return nil
		}
		if found[name] == nil {
			found[name], totals[name] = &queueUsage{name: name, path: string(q.Path)}, new(resources.Total)
		}
		return found[name]
	}
	for a := range q.Applications.All() {
		name := a.User.Name
		if s.groups {
			name = a.LimitGroup
		}
		if u := of(name); u != nil {
			u.apps = append(u.apps, a)
			totals[name].Add(a.Allocated)
			totals[name].Add(a.Placeholders)
		}
	}
	for child := range q.Children.All() {
		for name, below := range s.queue(child) {
			u := of(name)
			u.apps, u.children = append(u.apps, below.apps...), append(u.children, below)
			totals[name].Add(below.used)
		}
	}
	for _, rule := range q.LimitRules.All() {
		names := rule.Users
		if s.groups {
			names = rule.Groups
		}
		for _, name := range names {
			if name != limits.Wildcard && !s.active {
				of(name)
			}
		}
	}
	ruleFor := q.LimitRules.ForUser
	if s.groups {
		ruleFor = q.LimitRules.ForGroup
	}
	for name, u := range found {
		u.used = totals[name].Amounts()
		if rule, limited := ruleFor(name); limited {
			u.limit = rule.Bound()
		}
		slices.SortFunc(u.apps, func(a, b *scheduler.ApplicationView) int { return cmp.Compare(a.ID, b.ID) })
	}
	return found
}

// running returns the IDs of the running applications.
func (u *queueUsage) running() (ids []string) {
	for _, a := range u.apps {
		if a.State == lifecycle.Running {
			ids = append(ids, string(a.ID))
		}
	}
	return ids
}

// body returns the usage as REST shows it; those in the queues below are made while they are written.
func (u *queueUsage) body() dao.QueueUsage {
	v := dao.QueueUsage{
		QueuePath: u.path, ResourceUsage: dao.QuantitiesOf(u.used.All()), RunningApplications: u.running(),
		MaxResources: dao.QuantitiesOf(u.limit.MaxResources.All()), MaxApplications: u.limit.MaxApplications,
	}
	if len(u.children) > 0 {
		v.Children = dao.ListOf(slices.Values(u.children), (*queueUsage).body)
	}
	return v
}

// user returns the usage of a user.
func (u *queueUsage) user() dao.UserUsage {
	queues := u.body()
	v := dao.UserUsage{UserName: u.name, Groups: map[string]string{}, Queues: &queues}
	for _, a := range u.apps {
		if a.LimitGroup != "" {
			v.Groups[string(a.ID)] = a.LimitGroup
		}
	}
	return v
}

// group returns the usage of a group.
func (u *queueUsage) group() dao.GroupUsage {
	queues := u.body()
	v := dao.GroupUsage{GroupName: u.name, Queues: &queues}
	for _, a := range u.apps {
		v.Applications = append(v.Applications, string(a.ID))
	}
	return v
}

// usages returns usages with a slot of its own.
func usages(ctx context.Context, snap *scheduler.Snapshot, groups bool, only string) []*queueUsage {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	return sumUsages(snap, groups, only, slot)
}

func (s *service) users(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	return dao.ListOf(slices.Values(usages(r.Context(), snap, false, "")), (*queueUsage).user), nil
}

func (s *service) groups(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	return dao.ListOf(slices.Values(usages(r.Context(), snap, true, "")), (*queueUsage).group), nil
}

func (s *service) user(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	name, err := parameter(r, "user")
	if err != nil {
		return nil, err
	}
	if found := usages(r.Context(), snap, false, name); name != "" && len(found) > 0 {
		return found[0].user(), nil
	}
	return nil, notFound("User")
}

func (s *service) group(r *http.Request, snap *scheduler.Snapshot) (any, error) {
	name, err := parameter(r, "group")
	if err != nil {
		return nil, err
	}
	if found := usages(r.Context(), snap, true, name); name != "" && len(found) > 0 {
		return found[0].group(), nil
	}
	return nil, notFound("Group")
}
