package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Class quotas and their usage. YuniKorn has no classes: all of this is our own.

// classQuotasBody is all class quotas of a partition.
type classQuotasBody struct {
	Partition           string           `json:"partition"`
	ClassesNeedingQuota []selectorBody   `json:"classesNeedingQuota"` // classes whose asks a quota must admit
	Quotas              []classQuotaBody `json:"classQuotas"`
}

// classQuotaBody is a quota of a queue.
type classQuotaBody struct {
	Queue  string         `json:"queue,omitempty"` // where quotas of several queues are listed
	Name   string         `json:"name"`
	Match  selectorBody   `json:"match"`
	Users  []string       `json:"users,omitempty"`
	Groups []string       `json:"groups,omitempty"`
	Hard   quantities     `json:"hard"`           // "pods" is the number of asks and allocations
	Used   quantities     `json:"used,omitempty"` // in total, of the resources in hard; or else usedBy
	UsedBy []classUseBody `json:"usedBy,omitempty"`
}

// classUseBody is the usage of a user, or of a group, in a quota.
type classUseBody struct {
	User  string     `json:"user,omitempty"`
	Group string     `json:"group,omitempty"`
	Used  quantities `json:"used"`
}

type selectorBody struct {
	Operator string   `json:"operator"`
	Classes  []string `json:"classes,omitempty"`
}

func viewSelector(s limits.Selector) selectorBody {
	return selectorBody{s.Operator.String(), s.Classes}
}

// classQuotas lists the class quotas of a partition, queue by queue.
func (s *service) classQuotas(r *http.Request) (any, error) {
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	v := classQuotasBody{Partition: snap.Partition, ClassesNeedingQuota: []selectorBody{}, Quotas: []classQuotaBody{}}
	for _, x := range snap.ClassesNeedingQuota {
		v.ClassesNeedingQuota = append(v.ClassesNeedingQuota, viewSelector(x))
	}
	v.collect(snap.Root)
	return v, nil
}

func (v *classQuotasBody) collect(q *scheduler.QueueView) {
	for _, body := range viewClassQuotas(q) {
		body.Queue = string(q.Path)
		v.Quotas = append(v.Quotas, body)
	}
	for child := range q.Children.All() {
		v.collect(child)
	}
}

func viewClassQuotas(q *scheduler.QueueView) []classQuotaBody {
	var out []classQuotaBody
	for i := range q.ClassQuotas {
		x := &q.ClassQuotas[i]
		body := classQuotaBody{
			Name: x.Name, Match: viewSelector(x.Match), Users: x.Users, Groups: x.Groups, Hard: quantitiesOf(x.Hard.All()),
		}
		for u := range x.Used.All() {
			used := limitedUsage(x.Hard, u)
			switch {
			case u.UserOrGroup == (quota.UserOrGroup{}):
				body.Used = used
			case u.UserOrGroup.Group:
				body.UsedBy = append(body.UsedBy, classUseBody{Group: u.UserOrGroup.Name, Used: used})
			default:
				body.UsedBy = append(body.UsedBy, classUseBody{User: u.UserOrGroup.Name, Used: used})
			}
		}
		out = append(out, body)
	}
	return out
}

// limitedUsage is the usage of the resources that hard limits.
func limitedUsage(hard resources.Limit, u *quota.ClassUse) quantities {
	used := quantities{}
	for name := range hard.All() {
		used[name] = int64(u.Amounts.Get(name))
		if name == limits.Pods {
			used[name] = int64(u.Pods)
		}
	}
	return used
}
