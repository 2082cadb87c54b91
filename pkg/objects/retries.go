package objects

import "github.com/canopy-scheduler/canopy/pkg/feasibility"

// retries is what was found infeasible and may be feasible after a change: shapes that fit no node, and
// unschedulable asks, which the RM refused on every node that they fit. Placements only take resources, so
// of the changes only those that free resources in a node or below a max count (ASK-33 to ASK-35).
type retries struct {
	nodes            feasibility.FreedNodes[*Node]
	parked           []*AskGroup // groups with unschedulable asks
	requeueRequested bool        // the next RefreshShares requeues all unschedulable asks
}

// wants leaves out the changes that take resources, or free none by themselves: nodeFreed follows where they do.
func (*retries) wants() changeSet {
	return 1<<nodeFreed | 1<<nodeRestored | 1<<quotasChanged | 1<<settingsApplied | 1<<refusalsMayEnd | 1<<rebuilding
}

func (r *retries) on(c *change) {
	switch c.kind {
	case nodeFreed:
		r.nodes.Add(c.node)
		r.requeueRequested = true
	case nodeRestored:
		r.nodes.Add(c.node)
	case quotasChanged, settingsApplied, refusalsMayEnd:
		r.requeueRequested = true
	case rebuilding: // the rebuild requeues the asks of all groups
		r.parked = nil
	}
}
