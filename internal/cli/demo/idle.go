package demo

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// CheckIdle verifies a snapshot of a scheduler that has nothing left to decide: no node and no queue exceeds its
// capacity, and no ask is pending that could be placed on a node that is not reserved for another one. It tries every
// node for every ask. Recovered allocations, constraints on nodes, limits and preemption are not considered.
func CheckIdle(s *scheduler.Snapshot) error {
	for n := range s.Nodes.All() {
		if n.Available.HasNegative() {
			return fmt.Errorf("node %s has %v, and %v is allocated", n.ID, n.Total, n.Allocated)
		}
	}
	return checkQueue(s, s.Root, resources.Limit{}, map[shape]objects.NodeID{})
}

// shape decides on which nodes an ask fits.
type shape struct {
	amounts  string
	required objects.NodeID // empty: any
}

// checkQueue verifies a queue and all below it. fits remembers which node has space for a shape; empty: none has.
func checkQueue(s *scheduler.Snapshot, q *scheduler.QueueView, above resources.Limit,
	fits map[shape]objects.NodeID) error {
	if !q.Max.Allows(q.Allocated) {
		return fmt.Errorf("queue %s may hold %v, and %v is allocated", q.Path, q.Max, q.Allocated)
	}
	headroom := q.HeadroomBelow(above)
	// A StateAware leaf starts its applications one by one: asks may be pending although they fit.
	if q.Settings.AppSort != policies.StateAware {
		for a := range q.Applications.All() {
			for x := range a.Allocations.All() {
				if x.Node != "" || !headroom.Allows(x.Ask.Amounts) {
					continue
				}
				if node := nodeFor(s, x.Ask, fits); node != "" {
					return fmt.Errorf("ask %s of queue %s is pending, and node %s has space for it", x.Ask.Key, q.Path, node)
				}
			}
		}
	}
	for child := range q.Children.All() {
		if err := checkQueue(s, child, headroom, fits); err != nil {
			return err
		}
	}
	return nil
}

// nodeFor returns a schedulable node that is not reserved and has space for an ask; empty: there is none.
func nodeFor(s *scheduler.Snapshot, ask *objects.Ask, fits map[shape]objects.NodeID) (node objects.NodeID) {
	key := shape{ask.Amounts.String(), ask.RequiredNode()}
	node, known := fits[key]
	if known {
		return node
	}
	for n := range s.Nodes.All() {
		if n.Schedulable && (key.required == "" || key.required == n.ID) && len(n.ReservedFor) == 0 &&
			n.Available.Covers(ask.Amounts) {
			node = n.ID
			break
		}
	}
	fits[key] = node
	return node
}
