package webservice

import (
	"context"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// partitions lists the partitions.
func (s *service) partitions(r *http.Request) (any, error) {
	snaps, err := s.allSnapshots(r.Context())
	return s.partitionBodies(r.Context(), snaps), err
}

func (s *service) partitionBodies(ctx context.Context, snaps []*scheduler.Snapshot) []dao.Partition {
	out := make([]dao.Partition, len(snaps))
	for i, snap := range snaps {
		out[i] = viewPartition(ctx, snap)
		out[i].ClusterID = s.clusterID()
	}
	return out
}

// clusterID returns the ID of the registered resource manager; empty: there is none.
func (s *service) clusterID() string {
	if s.opt.ClusterID == nil {
		return ""
	}
	return s.opt.ClusterID()
}

func viewPartition(ctx context.Context, s *scheduler.Snapshot) dao.Partition {
	state := "Active"
	if s.Draining {
		state = "Draining"
	}
	states := map[string]int{"total": s.Applications + s.Completed.Len() + s.Rejected.Len()}
	waiting := 0
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	eachQueue(s.Root, slot, func(q *scheduler.QueueView) {
		for a := range q.Applications.All() {
			states[a.State.String()]++
		}
		if !s.Preemption {
			waiting += pendingSystemAsks(q)
		}
	})
	for e := range s.Completed.All() {
		states[e.State.String()]++
	}
	for e := range s.Rejected.All() {
		states[e.State.String()]++
	}
	return dao.Partition{
		Name: s.Partition,
		Capacity: dao.Capacity{
			Capacity:     dao.QuantitiesOf(s.Capacity.All()),
			UsedCapacity: dao.QuantitiesOf(s.Root.Allocated.All()),
			Utilization:  dao.Percentages(s.Root.Allocated, s.Capacity.All()),
			Deficit:      dao.QuantitiesOf(s.Root.Deficit.All()),
		},
		NodeSortingPolicy: dao.NodeSort{
			Type:            s.NodeOrder.Sort.String(),
			ResourceWeights: weights(s.NodeOrder),
		},
		PreemptionEnabled:      s.Preemption && !s.IgnorePriority,
		QuotaPreemptionEnabled: s.QuotaPreemption,
		TotalNodes:             s.Nodes.Len(),
		Applications:           states,
		TotalContainers:        s.Allocations,
		State:                  state,
		StateSince:             dao.Nanos(s.StateSince),
		PendingSystemAsks:      waiting,
	}
}

// pendingSystemAsks counts the pending asks of a queue with a system priority, 2000000000 or above.
func pendingSystemAsks(q *scheduler.QueueView) (n int) {
	for a := range q.Applications.All() {
		for w := range a.Allocations.All() {
			if w.Node == "" && w.Ask.Priority >= priorities.ClusterCritical {
				n++
			}
		}
	}
	return n
}

func weights(o policies.NodeSortPolicy) map[string]float64 {
	m := map[string]float64{}
	for _, w := range o.Weights {
		m[w.Resource] = w.Weight
	}
	return m
}
