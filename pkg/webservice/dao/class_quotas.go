package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ClassQuota is a quota of a queue.
type ClassQuota struct {
	Queue  string     `json:"queue,omitempty"` // where quotas of several queues are listed
	Name   string     `json:"name"`
	Match  Selector   `json:"match"`
	Users  []string   `json:"users,omitempty"`
	Groups []string   `json:"groups,omitempty"`
	Hard   Quantities `json:"hard"`           // "pods" is the number of asks and allocations
	Used   Quantities `json:"used,omitempty"` // in total, of the resources in hard; or else usedBy
	UsedBy []ClassUse `json:"usedBy,omitempty"`
}

// ClassUse is the usage of a user, or of a group, in a quota.
type ClassUse struct {
	User  string     `json:"user,omitempty"`
	Group string     `json:"group,omitempty"`
	Used  Quantities `json:"used"`
}

// Selector says which priority classes a quota is for.
type Selector struct {
	Operator string   `json:"operator"`
	Classes  []string `json:"classes,omitempty"`
}

// NewSelector shows s.
func NewSelector(s limits.Selector) Selector {
	return Selector{s.Operator.String(), s.Classes}
}

// NewClassQuotas shows the class quotas of q, without its path; nil: there is none.
func NewClassQuotas(q *scheduler.QueueView) []ClassQuota {
	var out []ClassQuota
	for i := range q.ClassQuotas {
		x := &q.ClassQuotas[i]
		body := ClassQuota{
			Name: x.Name, Match: NewSelector(x.Match), Users: x.Users, Groups: x.Groups, Hard: QuantitiesOf(x.Hard.All()),
		}
		for u := range x.Used.All() {
			used := limitedUsage(x.Hard, u)
			switch {
			case u.UserOrGroup == (quota.UserOrGroup{}):
				body.Used = used
			case u.UserOrGroup.Group:
				body.UsedBy = append(body.UsedBy, ClassUse{Group: u.UserOrGroup.Name, Used: used})
			default:
				body.UsedBy = append(body.UsedBy, ClassUse{User: u.UserOrGroup.Name, Used: used})
			}
		}
		out = append(out, body)
	}
	return out
}

// limitedUsage is the usage of the resources that hard limits.
func limitedUsage(hard resources.Limit, u *quota.ClassUse) Quantities {
	used := Quantities{}
	for name := range hard.All() {
		used[name] = int64(u.Amounts.Get(name))
		if name == limits.Pods {
			used[name] = int64(u.Pods)
		}
	}
	return used
}
