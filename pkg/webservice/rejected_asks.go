package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// maxRejectedAsks bounds the list of rejected asks.
const maxRejectedAsks = 1000

// rejectedAsks lists the asks of a partition that were rejected, the newest first, from the event history (APP-48).
func (s *service) rejectedAsks(r *http.Request) (any, error) {
	if _, err := s.partition(r); err != nil {
		return nil, err
	}
	partition, _ := parameter(r, "partition")
	list := []dao.RejectedAsk{}
	if s.opt.History == nil {
		return list, nil
	}
	slot := cpushare.Readers.Acquire(r.Context())
	defer slot.Release()
	for _, x := range s.opt.History.Newest(maxRejectedAsks, func(x *events.Record) bool {
		slot.Yield()
		return x.Rejected && x.Type == events.Request && x.Partition == partition
	}) {
		list = append(list, dao.RejectedAsk{
			AllocationKey: x.Object, ApplicationID: x.Reference, RejectedMessage: x.Message, Time: dao.Nanos(x.At),
		})
	}
	return list, nil
}
