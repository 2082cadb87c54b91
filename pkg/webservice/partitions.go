package webservice

import (
	"errors"
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// partitions lists the partitions. The cluster ID is empty: it is the RM's name, which
// no snapshot has.
func (s *service) partitions(r *http.Request) (any, error) {
	out := []partitionBody{}
	for _, name := range s.cluster.Partitions() {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // it was drained and went just now
		}
		snap, err := l.Snapshot(r.Context())
		if _, stays := s.cluster.Partition(name); errors.Is(err, loop.ErrEnded) && !stays {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, viewPartition(snap))
	}
	return out, nil
}

func viewPartition(s *scheduler.Snapshot) partitionBody {
	state := "Active"
	if s.Draining {
		state = "Draining"
	}
	states := map[string]int{"total": s.Applications + len(s.Completed) + len(s.Rejected)}
	countStates(&s.Root, states)
	for _, e := range slices.Concat(s.Completed, s.Rejected) {
		states[e.State.String()]++
	}
	waiting := 0
	if !s.Preemption {
		waiting = systemWork(&s.Root)
	}
	return partitionBody{
		Name: s.Partition,
		Capacity: capacityBody{
			Capacity:     quantitiesOf(s.Capacity.All()),
			UsedCapacity: quantitiesOf(s.Root.Allocated.All()),
			Utilization:  percentages(s.Root.Allocated, s.Capacity.All()),
		},
		NodeSortingPolicy: nodeSortBody{
			Type:            s.NodeOrder.Nodes.String(),
			ResourceWeights: weights(s.NodeOrder),
		},
		PreemptionEnabled:      s.Preemption && !s.IgnorePriority,
		QuotaPreemptionEnabled: s.QuotaPreemption,
		TotalNodes:             len(s.Nodes),
		Applications:           states,
		TotalContainers:        s.Allocations,
		State:                  state,
		SystemWorkWaits:        waiting,
	}
}

// systemWork counts the pending asks in q and below it whose number is one of the system's.
func systemWork(q *scheduler.QueueView) (n int) {
	for i := range q.Applications {
		for _, w := range q.Applications[i].Work {
			if w.Node == "" && w.Ask.Priority >= priorities.ClusterCritical {
				n++
			}
		}
	}
	for i := range q.Children {
		n += systemWork(&q.Children[i])
	}
	return n
}

func countStates(q *scheduler.QueueView, states map[string]int) {
	for i := range q.Applications {
		states[q.Applications[i].State.String()]++
	}
	for i := range q.Children {
		countStates(&q.Children[i], states)
	}
}

func weights(o policies.NodeOrder) map[string]float64 {
	m := map[string]float64{}
	for _, w := range o.Weights {
		m[w.Resource] = w.Weight
	}
	return m
}
