package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Class quotas and their usage. YuniKorn has no classes: all of this is our own.

// classQuotasBody is all class quotas of a partition.
type classQuotasBody struct {
	Partition           string           `json:"partition"`
	ClassesNeedingQuota []dao.Selector   `json:"classesNeedingQuota"` // classes whose asks a quota must admit
	Quotas              []dao.ClassQuota `json:"classQuotas"`
}

// classQuotas lists the class quotas of a partition, queue by queue.
func (s *service) classQuotas(_ *http.Request, snap *scheduler.Snapshot) (any, error) {
	v := classQuotasBody{Partition: snap.Partition, ClassesNeedingQuota: []dao.Selector{}, Quotas: []dao.ClassQuota{}}
	for _, x := range snap.ClassesNeedingQuota {
		v.ClassesNeedingQuota = append(v.ClassesNeedingQuota, dao.NewSelector(x))
	}
	v.collect(snap.Root)
	return v, nil
}

func (v *classQuotasBody) collect(q *scheduler.QueueView) {
	for _, body := range dao.NewClassQuotas(q) {
		body.Queue = string(q.Path)
		v.Quotas = append(v.Quotas, body)
	}
	for child := range q.Children.All() {
		v.collect(child)
	}
}
