package objects

import "github.com/canopy-scheduler/canopy/pkg/feasibility"

// retries is what was found infeasible and may be feasible after a change: shapes that fit no node, and
// unschedulable asks, which the RM refused on every node that they fit. Placements only take resources, so
// of the changes only those that free resources in a node or below a max count (ASK-33 to ASK-35).
type retries struct {
	ignoreAskChanges
	ignoreGangChanges
	ignoreAccountChanges
	ignoreApplicationChanges

	nodes            feasibility.FreedNodes[*Node]
	parked           []*AskGroup // groups with unschedulable asks
	requeueRequested bool        // the next RefreshShares requeues all unschedulable asks
}

func (r *retries) nodeFreed(n *Node) {
	r.nodes.Add(n)
	r.requeueRequested = true
}

func (r *retries) nodeRestored(n *Node) { r.nodes.Add(n) }
func (r *retries) quotasChanged(*Queue) { r.requeueRequested = true }
func (r *retries) settingsApplied()     { r.requeueRequested = true }
func (r *retries) refusalsMayEnd()      { r.requeueRequested = true }

// rebuilding forgets the groups: the rebuild requeues the asks of all.
func (r *retries) rebuilding() { r.parked = nil }

// The other changes take resources, or free none by themselves: nodeFreed follows where they do.

func (*retries) allocationPosted(*Allocation)          {}
func (*retries) allocationUnposted(*Allocation)        {}
func (*retries) allocationTagged(*Allocation)          {}
func (*retries) allocationResized(*Allocation)         {}
func (*retries) preemptionMarked(*Allocation)          {}
func (*retries) preemptionUnmarked(*Allocation)        {}
func (*retries) nodeAdded(*Node)                       {}
func (*retries) nodeRemoved(*Node)                     {}
func (*retries) nodeUsageChanged(*Node)                {}
func (*retries) schedulabilityChanged(*Node)           {}
func (*retries) nodeAttributesChanged(*Node)           {}
func (*retries) nodeBudgetsChanged(*Node)              {}
func (*retries) foreignAdded(*Node, *Foreign)          {}
func (*retries) foreignRemoved(*Node, *Foreign)        {}
func (*retries) capacityChanged(*Queue)                {}
func (*retries) queueUsageChanged(*Queue)              {}
func (*retries) queuePreemptingChanged(*Queue)         {}
func (*retries) queueRunningChanged(*Queue)            {}
func (*retries) queueSettingsChanged(*Queue)           {}
func (*retries) queueChanged(*Queue)                   {}
func (*retries) queueStateChanged(*Queue, QueueChange) {}
func (*retries) queueTreeChanged()                     {}
func (*retries) configurationChanged()                 {}
func (*retries) resourceAdded()                        {}
