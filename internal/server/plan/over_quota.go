package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// OverQuota is a new or changed class quota that is exceeded. Existing asks and allocations stay; further
// asks are rejected until the usage is below the quota.
type OverQuota struct {
	Partition string             `json:"partition"`
	Queue     string             `json:"queue"`
	Quota     string             `json:"quota"`
	User      string             `json:"user,omitempty"`
	Group     string             `json:"group,omitempty"` // if User and Group are empty: all users together
	Resource  string             `json:"resource"`        // "pods": number of asks and allocations
	Used      resources.Quantity `json:"used"`
	Hard      resources.Quantity `json:"hard"`
	By        resources.Quantity `json:"by"`
}

// String is a line of text about the exceeded quota.
func (o OverQuota) String() string {
	holder := ""
	switch {
	case o.User != "":
		holder = " for user " + o.User
	case o.Group != "":
		holder = " for group " + o.Group
	}
	return fmt.Sprintf("class quota %s of %s is exceeded%s by %s: %s used, and %s allowed", o.Quota, o.Queue, holder,
		resources.FormatNamedQuantity(o.Resource, o.By), resources.FormatQuantity(o.Resource, o.Used),
		resources.FormatQuantity(o.Resource, o.Hard))
}

// Workload is an ask or an allocation, for class quotas.
type Workload struct {
	Queue   string        // of its application
	User    security.User // of its application
	Class   string        // priority class; empty: none
	Amounts map[string]resources.Quantity
}

// quotaCounter identifies a class quota and the user or group that it counts.
type quotaCounter struct{ queue, quota, user, group string }

// listOverQuota lists the class quotas that change and are exceeded after the change.
func (p *Plan) listOverQuota(yield func(), c *diff.PartitionChange, new queueTree, s *Partition) {
	changed := map[quotaCounter]bool{}
	for _, q := range c.Queues {
		for _, v := range q.Values {
			if words := strings.Fields(v.Name); len(words) > 2 && words[0] == "classquota" {
				changed[quotaCounter{queue: q.Queue, quota: words[1]}] = true
			}
		}
	}
	if len(changed) == 0 {
		return
	}
	scopes, hard := map[string][]limits.Scope{}, map[quotaCounter]resources.Limit{} // hard of what has changed
	for path, q := range new {
		scopes[path] = limits.Scopes(q.ClassQuotas)
		for _, quota := range q.ClassQuotas {
			if at := (quotaCounter{queue: path, quota: quota.Name}); changed[at] {
				hard[at] = quota.Hard
			}
		}
	}
	used := map[quotaCounter]map[string]resources.Quantity{}
	for i := range s.Workloads {
		yield()
		w := &s.Workloads[i]
		forEachQuota(scopes, w, func(at quotaCounter) {
			if used[at] == nil {
				used[at] = map[string]resources.Quantity{}
			}
			for name, n := range w.Amounts {
				if name != limits.Pods {
					used[at][name] += n
				}
			}
			used[at][limits.Pods]++
		})
	}
	for at, amounts := range used {
		yield()
		for name, most := range hard[quotaCounter{queue: at.queue, quota: at.quota}].All() {
			if n := amounts[name]; n > most {
				p.OverQuota = append(p.OverQuota,
					OverQuota{c.Partition, at.queue, at.quota, at.user, at.group, name, n, most, n - most})
			}
		}
	}
	slices.SortFunc(p.OverQuota, func(a, b OverQuota) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Quota, b.Quota),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.User, b.User), cmp.Compare(a.Resource, b.Resource))
	})
}

// forEachQuota calls in for each class quota that counts an ask or allocation. A dynamic queue has none.
func forEachQuota(scopes map[string][]limits.Scope, w *Workload, in func(quotaCounter)) {
	for path := w.Queue; path != ""; path = pathAbove(path) {
		for _, s := range scopes[path] {
			if !s.Match.Matches(w.Class) {
				continue
			}
			if i := s.IndexForAll(); i >= 0 {
				in(quotaCounter{queue: path, quota: s.Quotas[i].Name})
			}
			if i := s.IndexForUser(w.User.Name); i >= 0 {
				in(quotaCounter{queue: path, quota: s.Quotas[i].Name, user: w.User.Name})
			}
			if i, group := s.IndexForGroups(w.User.Groups); i >= 0 {
				in(quotaCounter{queue: path, quota: s.Quotas[i].Name, group: group})
			}
		}
	}
}
