package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// Unschedulable asks. Masks say which nodes fit, not what the RM refuses. An ask that the RM
// refused on every node that it fits is unschedulable and backs off: it is not tried again until a change that
// frees resources in a node or below a max, since placements only take resources (ASK-33, ASK-34). What other
// allocations refuse to one ask of a group they refuse to all, so the group waits as a whole: see MarkRefused.

// MarkUnschedulable takes x, which the RM refused on every node that it fits, out of the
// schedulable asks until the next requeue.
func (p *Partition) MarkUnschedulable(x *Allocation) {
	group := x.group
	group.remove(x)
	group.addUnschedulable(x)
	p.journal.retries.park(group)
}

// Unschedulable reports whether x was marked unschedulable and no requeue is requested since.
func (p *Partition) Unschedulable(x *Allocation) bool {
	return !p.journal.retries.requeueRequested && x.group.isUnschedulable(x)
}

// UnschedulableCount is the number of asks for which Unschedulable is true. The cost grows with the number of their
// groups.
func (p *Partition) UnschedulableCount() (n int) {
	r := &p.journal.retries
	if r.requeueRequested {
		return 0
	}
	counted := make(map[*AskGroup]bool, len(r.parked))
	for _, group := range r.parked {
		if !counted[group] {
			counted[group] = true
			n += len(group.unschedulableAsks())
		}
	}
	return n
}

// RetryRefusedAsks makes the next RefreshShares requeue all unschedulable asks, because the RM may accept
// them now.
func (p *Partition) RetryRefusedAsks() { p.journal.post(Change{Kind: RefusalsMayEnd}) }

// MarkRefused takes the group of x, which is Constrained and to which other allocations refuse every node that it fits,
// out of the order until RequeueConstrained.
func MarkRefused(p *Partition, x *Allocation) {
	x.group.amendSetbacks().refused = true
	p.journal.retries.parked = append(p.journal.retries.parked, x.group)
	x.group.reindex()
}

// Refused reports whether the group of x was marked so and no requeue is requested since.
func Refused(p *Partition, x *Allocation) bool {
	return !p.journal.retries.requeueRequested && x.group.refused()
}

// AnyParked reports whether an ask may wait for a requeue.
func AnyParked(p *Partition) bool { return len(p.journal.retries.parked) > 0 }

// RequeueConstrained posts that other allocations may leave nodes to asks to which they did not. It makes the asks with
// constraints on other allocations schedulable, also those that the RM refused on nodes that these left to them.
func RequeueConstrained(p *Partition) {
	p.journal.post(Change{Kind: NodesOpened})
	p.journal.retries.requeueIf(func(group *AskGroup) bool { return group.id.affinity != nil })
}

// RequeueUnfitting makes the asks schedulable again that fit no node any more: none is refused to them by the RM, or by
// other allocations.
func RequeueUnfitting(p *Partition) {
	p.journal.retries.requeueIf(func(group *AskGroup) bool { return p.FirstFittingNode(group.id.shape) == nil })
}

func (r *retries) park(group *AskGroup) {
	if len(group.unschedulableAsks()) == 1 { // otherwise it is listed already
		r.parked = append(r.parked, group)
	}
	group.reindex()
}

// requeueIf makes all asks of the groups schedulable for which due returns true.
func (r *retries) requeueIf(due func(*AskGroup) bool) {
	r.parked = slices.DeleteFunc(r.parked, func(group *AskGroup) bool {
		if !due(group) {
			return false
		}
		group.clearRefused()
		group.requeueInOrder()
		return true
	})
}

// requeue makes all asks schedulable that the RM refused, if that was requested.
func (r *retries) requeue() {
	if !r.requeueRequested {
		return
	}
	r.requeueRequested = false
	r.parked = slices.DeleteFunc(r.parked, func(group *AskGroup) bool {
		group.requeueInOrder()
		return !group.refused()
	})
}

// requeueInOrder makes all asks of g that the RM refused schedulable, and updates the order of its application.
func (g *AskGroup) requeueInOrder() {
	g.requeue()
	if !g.empty() {
		g.app.reindex()
	}
}

// reindex updates the position of g and of its application.
func (g *AskGroup) reindex() {
	g.app.askGroups.reindex(g)
	g.app.reindex()
}

// requeue makes all asks of g schedulable.
func (g *AskGroup) requeue() {
	for _, x := range g.takeUnschedulable() {
		g.insert(x)
	}
	g.app.askGroups.reindex(g)
}

// retries tracks what was found infeasible and may be feasible after a change: shapes that fit no node, and
// unschedulable asks, which the RM refused on every node that they fit. Placements only take resources, so
// of the changes only those that free resources in a node or below a max count (ASK-33 to ASK-35).
type retries struct {
	nodes            feasibility.FreedNodes[*Node]
	parked           []*AskGroup // groups with unschedulable asks
	requeueRequested bool        // the next RefreshShares requeues all unschedulable asks
}

// Wants leaves out the changes that take resources, or free none by themselves: NodeFreed follows where they do.
func (*retries) Wants() ChangeSet {
	return 1<<NodeFreed | 1<<NodeRestored | 1<<QuotasChanged | 1<<SettingsApplied | 1<<RefusalsMayEnd | 1<<Rebuilding
}

func (r *retries) On(c *Change) {
	switch c.Kind {
	case NodeFreed:
		r.nodes.Add(c.Node)
		r.requeueRequested = true
	case NodeRestored:
		r.nodes.Add(c.Node)
	case QuotasChanged, SettingsApplied, RefusalsMayEnd:
		r.requeueRequested = true
	case Rebuilding: // the rebuild requeues the asks of all groups
		r.parked = nil
	}
}
