package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// oneQueue shows one queue, and with the parameter subtree those below it (OBS-97).
func (s *service) oneQueue(r *http.Request) (any, error) {
	snap, q, err := s.queue(r)
	if err != nil {
		return nil, err
	}
	slot := cpushare.Readers.Acquire(r.Context())
	defer slot.Release()
	v := viewQueue(q, slot, snap.Headroom(q.Path), r.URL.Query().Has("subtree"))
	v.Partition = snap.Partition
	return v, nil
}

// viewQueue shows q with what it counts of the queues below and, with subtree, these too.
func viewQueue(q *scheduler.QueueView, slot *cpushare.Slot, headroom resources.Limit, subtree bool) dao.Queue {
	slot.Yield()
	v := dao.NewQueue(q, headroom)
	for child := range q.Children.All() {
		below := viewQueue(child, slot, child.HeadroomBelow(headroom), subtree)
		v.AddChild(string(child.Path), below.RunningApps)
		if subtree {
			v.Children = append(v.Children, below)
		}
	}
	return v
}
