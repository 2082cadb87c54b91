package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Class quotas, computed from the list of asks and allocations each time.

// quotaAccount says where an ask counts: in which quota of which queue, and for which user or group.
type quotaAccount struct {
	queue  objects.QueuePath
	quota  string
	holder quota.UserOrGroup
}

// selectorMatches reports whether a selector selects asks of a class.
func selectorMatches(s limits.Selector, class string) bool {
	listed := slices.Contains(s.Classes, class)
	return s.Operator == limits.In && listed || s.Operator == limits.NotIn && !listed ||
		s.Operator == limits.Exists && class != "" || s.Operator == limits.DoesNotExist && class == ""
}

// quotaAccounts returns the class quotas that count asks of a class of an application, with their max.
func (t *Twin) quotaAccounts(a *app, class string) map[quotaAccount]map[string]resources.Quantity {
	all := map[quotaAccount]map[string]resources.Quantity{}
	for _, q := range t.pathQueues(a.leaf) {
		for _, x := range q.conf.ClassQuotas {
			if !selectorMatches(x.Match, class) {
				continue
			}
			like := []limits.ClassQuota{} // the quotas of the same match
			for _, y := range q.conf.ClassQuotas {
				if y.Match.Operator == x.Match.Operator && slices.Equal(y.Match.Classes, x.Match.Classes) {
					like = append(like, y)
				}
			}
			for _, h := range holders(x, like, a) {
				all[quotaAccount{q.path, x.Name, h}] = x.Hard.Map()
			}
		}
	}
	return all
}

// holders returns the users or groups that an application counts for in x.
func holders(x limits.ClassQuota, like []limits.ClassQuota, a *app) (as []quota.UserOrGroup) {
	if x.Users == nil && x.Groups == nil {
		return []quota.UserOrGroup{{}}
	}
	named, group := false, ""
	for _, y := range like {
		named = named || slices.Contains(y.Users, a.user.Name)
		for _, g := range y.Groups {
			if g != "*" && group == "" && slices.Contains(a.user.Groups, g) {
				group = g
			}
		}
	}
	if slices.Contains(x.Users, a.user.Name) || !named && slices.Contains(x.Users, "*") {
		as = append(as, quota.UserOrGroup{Name: a.user.Name})
	}
	if group == "" {
		group = "*"
	}
	if slices.Contains(x.Groups, group) {
		as = append(as, quota.UserOrGroup{Group: true, Name: group})
	}
	return as
}

// classUse is the usage of a class quota.
type classUse struct {
	amounts resources.Amounts
	pods    int
}

// quotaUsage adds up the asks that count in each account.
func (t *Twin) quotaUsage() map[quotaAccount]classUse {
	all := map[quotaAccount]classUse{}
	for _, w := range t.allocations {
		for at := range t.quotaAccounts(t.app(w.ask.App), w.class) {
			u := all[at]
			all[at] = classUse{u.amounts.Add(w.ask.Amounts), u.pods + 1}
		}
	}
	return all
}

// quotaRejection says why an ask cannot be added, or cannot grow; w is the known ask.
func (t *Twin) quotaRejection(ask *objects.Ask, class string, w *allocation) string {
	var before resources.Amounts
	pods := 1
	if w != nil {
		before, class, pods = w.ask.Amounts, w.class, 0
	}
	places, used := t.quotaAccounts(t.app(ask.App), class), t.quotaUsage()
	for at, hard := range places {
		for name, most := range hard {
			was, wants, has := before.Get(name), ask.Amounts.Get(name), used[at].amounts.Get(name)
			if name == "pods" {
				was, wants, has = 0, resources.Quantity(pods), resources.Quantity(used[at].pods)
			}
			if wants > was && wants-was > most-has {
				return "more than quota " + at.quota + " leaves"
			}
		}
	}
	for _, s := range t.needQuota {
		if w == nil && len(places) == 0 && selectorMatches(s, class) {
			return "no quota covers it"
		}
	}
	return ""
}

// checkClassQuotas compares the class quotas of a queue with the snapshot.
func (d *comparison) classQuotas(q *queue, views []quota.ClassQuota) {
	if !same(d, string(q.path), "class quotas", len(q.conf.ClassQuotas), len(views)) || len(views) == 0 {
		return
	}
	used := d.quotaUsage
	for i, x := range q.conf.ClassQuotas {
		name := "quota " + x.Name + " of " + string(q.path)
		same(d, name, "name", x.Name, views[i].Name)
		want := 0
		for at := range used {
			want += boolToInt(at.queue == q.path && at.quota == x.Name)
		}
		got := 0
		for v := range views[i].Used.All() {
			u := used[quotaAccount{q.path, x.Name, v.UserOrGroup}]
			sameAmounts(d, name, "used by "+v.UserOrGroup.String(), u.amounts, v.Amounts)
			same(d, name, "asks of "+v.UserOrGroup.String(), u.pods, v.Pods)
			got += boolToInt(v.Pods > 0)
		}
		same(d, name, "counts for so many", want, got)
	}
}
