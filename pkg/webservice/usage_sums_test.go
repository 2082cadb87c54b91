package webservice

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// naiveUsages adds up the usage of all users, or of all groups, in a snapshot anew.
type naiveUsages struct {
	groups bool
	apps   map[string][]*scheduler.ApplicationView // by name, sorted by queue and ID
}

// naiveUsage is the usage of one user or group in one queue, with the queues below.
type naiveUsage struct {
	body     dao.QueueUsage
	children []dao.QueueUsage
	used     resources.Amounts
}

// sumQueue returns the usage in q and below it, by name.
func (u *naiveUsages) sumQueue(q *scheduler.QueueView) map[string]*naiveUsage {
	nodes := map[string]*naiveUsage{}
	of := func(name string) *naiveUsage {
		if name == "" {
			return nil
		}
		n := nodes[name]
		if n == nil {
			n = &naiveUsage{body: dao.QueueUsage{QueuePath: string(q.Path)}}
			nodes[name] = n
		}
		return n
	}
	for a := range q.Applications.All() {
		name := u.userOrGroup(a)
		n := of(name)
		if n == nil {
			continue
		}
		u.apps[name] = append(u.apps[name], a)
		n.used = n.used.Add(a.Allocated).Add(a.Placeholders)
		if a.State == lifecycle.Running {
			n.body.RunningApplications = append(n.body.RunningApplications, string(a.ID))
		}
	}
	for child := range q.Children.All() {
		for name, below := range u.sumQueue(child) {
			n := of(name)
			n.used = n.used.Add(below.used)
			n.body.RunningApplications = append(n.body.RunningApplications, below.body.RunningApplications...)
			n.children = append(n.children, below.body)
		}
	}
	for _, rule := range q.LimitRules.All() {
		names := rule.Users
		if u.groups {
			names = rule.Groups
		}
		for _, name := range names {
			if name != limits.Wildcard {
				of(name)
			}
		}
	}
	for name, n := range nodes {
		slices.Sort(n.body.RunningApplications)
		if n.children != nil {
			n.body.Children = dao.List[dao.QueueUsage](slices.Values(n.children))
		}
		n.body.ResourceUsage = dao.QuantitiesOf(n.used.All())
		if rule, ok := u.rule(q.LimitRules, name); ok {
			n.body.MaxResources, n.body.MaxApplications = dao.QuantitiesOf(rule.MaxResources.All()), rule.MaxApplications
		}
	}
	return nodes
}

// userOrGroup is the user or the group that the application counts for; empty: none.
func (u *naiveUsages) userOrGroup(a *scheduler.ApplicationView) string {
	if u.groups {
		return a.LimitGroup
	}
	return a.User.Name
}

func (u *naiveUsages) rule(rules *limits.Index, name string) (limits.Limit, bool) {
	if u.groups {
		return rules.ForGroup(name)
	}
	return rules.ForUser(name)
}

func (u *naiveUsages) viewUser(name string, n *naiveUsage) dao.UserUsage {
	v := dao.UserUsage{UserName: name, Groups: map[string]string{}, Queues: &n.body}
	for _, a := range u.apps[name] {
		if a.LimitGroup != "" {
			v.Groups[string(a.ID)] = a.LimitGroup
		}
	}
	return v
}

func (u *naiveUsages) viewGroup(name string, n *naiveUsage) dao.GroupUsage {
	v := dao.GroupUsage{GroupName: name, Queues: &n.body}
	for _, a := range u.apps[name] {
		v.Applications = append(v.Applications, string(a.ID))
	}
	slices.Sort(v.Applications)
	return v
}

// marshal is the expected text of the list, and of each user or group alone.
func (u *naiveUsages) marshal(t *testing.T, root *scheduler.QueueView) (list string, each map[string]string) {
	byName := u.sumQueue(root)
	all, each := []any{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		var view any = u.viewUser(name, byName[name])
		if u.groups {
			view = u.viewGroup(name, byName[name])
		}
		all, each[name] = append(all, view), marshalled(t, view)
	}
	return marshalled(t, all), each
}

// Usages are what the applications of a user or a group have.
func TestUsage_EqualsAddingUpTheSnapshot(t *testing.T) {
	listed := 0
	for seed := range int64(testscale.Runs(20)) {
		r := newRandomCluster(t, seed)
		for range 20 {
			for range r.rng.IntN(30) {
				r.step()
			}
			snap := r.waitIdle()
			for kind, groups := range map[string]bool{"user": false, "group": true} {
				want, each := (&naiveUsages{groups: groups, apps: map[string][]*scheduler.ApplicationView{}}).marshal(t, snap.Root)
				const usage = "/ws/v1/partition/default/usage/"
				for _, gzipped := range []bool{false, true} {
					assert.Equal(t, string(r.get(usage+kind+"s", gzipped)), want, "seed %d", seed)
				}
				for name, want := range each {
					assert.Equal(t, string(r.get(usage+kind+"/"+url.PathEscape(url.QueryEscape(name)), false)), want, "seed %d", seed)
				}
				listed += len(each)
			}
		}
	}
	assert.Assert(t, listed > 200, "%d users and groups", listed)
}
