package objects

import "slices"

// preemptionChanges is what package preemption needs to know of changes: which ask groups to evaluate
// (anew), which nodes to summarize again, and whether anything changed that could let an ask preempt.
type preemptionChanges struct {
	generation        uint64            // grows when more asks might preempt
	newPreemptors     []*AskGroup       // since TakeNewPreemptors
	firstAskChanged   []*AskGroup       // since TakeFirstAskChanged
	endedNominations  []EndedNomination // since TakeEndedNominations
	changedNodes      []*Node           // since TakeChangedNodes
	marked            []*Allocation     // marked for preemption, since TakeMarked
	unmarked          []*Allocation     // no longer marked for preemption, since TakeEnded
	removedAsks       []*Allocation     // no longer pending, since TakeEnded, if recordRemovedAsks
	recordRemovedAsks bool
	nodeCount         int    // number of nodes
	nodeSetGeneration uint64 // how often a node was added or removed
	configGeneration  uint64 // how often the configuration changed
}

// PreemptionGeneration grows with every change that could let an ask preempt that could not before.
func (p *Partition) PreemptionGeneration() uint64 { return p.journal.preemption.generation }

// NodeSetGeneration changes whenever a node is added or removed.
func (p *Partition) NodeSetGeneration() uint64 { return p.journal.preemption.nodeSetGeneration }

// ConfigGeneration changes whenever the configuration changes.
func (p *Partition) ConfigGeneration() uint64 { return p.journal.preemption.configGeneration }

// ResourceCount is the number of resource indexes in use. It only grows.
func (p *Partition) ResourceCount() int { return p.names.Len() }

// idle reports whether nothing is to be taken that package preemption examines after each placement.
func (c *preemptionChanges) idle() bool {
	return !c.recordRemovedAsks && len(c.endedNominations)+len(c.marked)+len(c.unmarked)+len(c.removedAsks) == 0
}

// TakeChangedNodes returns the nodes whose free resources or allocations changed since the last
// call, each once, in no order. Some may be removed by now.
func (p *Partition) TakeChangedNodes() []*Node {
	c := &p.journal.preemption
	out := c.changedNodes
	c.changedNodes = nil
	for _, n := range out {
		n.inChangedNodes = false
	}
	return out
}

// TakeNewPreemptors returns the ask groups that were listed since the last call because they may
// preempt; some may be empty by now.
func (p *Partition) TakeNewPreemptors() []*AskGroup {
	c := &p.journal.preemption
	out := c.newPreemptors
	c.newPreemptors = nil
	return out
}

// TakeFirstAskChanged returns the ask groups whose first ask without a nomination may be another
// one since the last call. The list is valid until the partition changes.
func (p *Partition) TakeFirstAskChanged() []*AskGroup {
	c := &p.journal.preemption
	out := take(&c.firstAskChanged)
	for _, group := range out {
		group.firstAskChangeListed = false
	}
	return out
}

// TakeEndedNominations returns the nominations that ended since the last call, in that order. The
// list is valid until the next one ends.
func (p *Partition) TakeEndedNominations() []EndedNomination {
	return take(&p.journal.preemption.endedNominations)
}

// RecordRemovedAsks makes TakeEnded return asks, or no longer.
func (p *Partition) RecordRemovedAsks(record bool) { p.journal.preemption.recordRemovedAsks = record }

// TakeEnded returns, since the last call, the asks that were removed from the pending ones and, of the preempting
// allocations, those whose mark was removed. An ask that was resized, and a victim that is overdue or was resized,
// is there too: the caller must look at what it is now. The lists are valid until the partition changes.
func (p *Partition) TakeEnded() (asks, victims []*Allocation) {
	return take(&p.journal.preemption.removedAsks), take(&p.journal.preemption.unmarked)
}

// TakeMarked returns the allocations that were marked for preemption since the last call, in that order. A victim
// that is overdue or was resized is there once more, and one that was released is there still: the caller must look
// at what it is now. The list is valid until the partition changes.
func (p *Partition) TakeMarked() []*Allocation {
	return take(&p.journal.preemption.marked)
}

// addPreemptor lists group as a new preemptor, if it may preempt and was not listed before.
func (c *preemptionChanges) addPreemptor(group *AskGroup) {
	if group.MayPreempt() && !group.preemptorListed {
		group.preemptorListed = true
		c.newPreemptors = append(c.newPreemptors, group)
	}
}

func (c *preemptionChanges) addFirstAskChange(group *AskGroup) {
	if group.preemptorListed && !group.firstAskChangeListed {
		group.firstAskChangeListed = true
		c.firstAskChanged = append(c.firstAskChanged, group)
	}
}

func (c *preemptionChanges) addChangedNode(n *Node) {
	if n.inChangedNodes {
		return
	}
	n.inChangedNodes = true
	c.changedNodes = append(c.changedNodes, n)
	if len(c.changedNodes) > 2*c.nodeCount+64 { // not taken for long
		c.changedNodes = slices.DeleteFunc(c.changedNodes, func(n *Node) bool { return !n.registered })
	}
}

// askAdded: another ask may be evaluated for the group, and a gang has another size.
func (c *preemptionChanges) askAdded(x *Allocation, in GroupPosition) {
	if in == InsideGroup || in == LastOfGroup && x.PreemptsAsGang() {
		c.generation++
		c.addFirstAskChange(x.group)
	}
	c.addPreemptor(x.group)
}

// askRemoved: the next ask may be the first now, and its delays end later.
func (c *preemptionChanges) askRemoved(x *Allocation, from *AskGroup) {
	if c.recordRemovedAsks {
		c.removedAsks = append(c.removedAsks, x)
	}
	if !from.empty() {
		c.addFirstAskChange(from)
	}
	if !from.empty() || x.PreemptsAsGang() {
		c.generation++
	}
}

func (c *preemptionChanges) mayPreemptChanged(a *Application) {
	for _, group := range a.askGroups.list {
		c.addPreemptor(group)
	}
}

// Wants leaves out what matters to no search for victims: the quantities of nodes that follow from a change are
// changes of their own, and quotas are read at each evaluation.
func (*preemptionChanges) Wants() ChangeSet {
	return 1<<AskAdded | 1<<AskRemoved | 1<<NominationEnded | 1<<PreemptionMarked | 1<<PreemptionUnmarked |
		1<<PlaceholderEnding | 1<<AskGroupHeld | 1<<NodeAdded | 1<<NodeRemoved | 1<<NodeUsageChanged |
		1<<SchedulabilityChanged | 1<<NodeAttributesChanged | 1<<NodeBudgetsChanged | 1<<QuotasChanged |
		1<<ApplicationMoved | 1<<MayPreemptChanged | 1<<MayBeAllocatedChanged | 1<<ApplicationRemoved |
		1<<RunningChanged | 1<<FirstStartingChanged | 1<<Rebuilding | 1<<ConfigurationChanged
}

func (c *preemptionChanges) On(was *Change) {
	switch was.Kind {
	case NodeUsageChanged, SchedulabilityChanged, NodeAttributesChanged:
		c.generation++
		c.addChangedNode(was.Node)
	case AskAdded:
		c.askAdded(was.Ask, was.Position)
	case AskRemoved:
		c.askRemoved(was.Ask, was.Group)
	case NominationEnded:
		c.endedNominations = append(c.endedNominations, EndedNomination{was.Ask, was.Node, was.Since})
		c.addPreemptor(was.Ask.group)
		c.addFirstAskChange(was.Ask.group)
	case PreemptionMarked:
		c.marked = append(c.marked, was.Ask)
		c.generation++
		c.addChangedNode(was.Ask.node)
	case PreemptionUnmarked:
		c.unmarked = append(c.unmarked, was.Ask)
		c.generation++
		c.addChangedNode(was.Ask.node)
	case PlaceholderEnding: // no ending placeholder is a victim, so a victim unit may be complete without it
		c.generation++
		c.addChangedNode(was.Ask.node)
	case AskGroupHeld: // asks no longer held back may preempt, and the delays of those that are do not matter
		c.generation++
		c.addPreemptor(was.Group)
		c.addFirstAskChange(was.Group)
	case NodeAdded:
		c.nodeCount++
		c.nodeSetGeneration++
	case NodeRemoved:
		c.nodeCount--
		c.nodeSetGeneration++
	case NodeBudgetsChanged:
		c.addChangedNode(was.Node)
	case QuotasChanged:
		c.generation++
		for _, a := range was.Queue.byID {
			c.mayPreemptChanged(a)
		}
	case MayPreemptChanged:
		c.mayPreemptChanged(was.App)
	case MayBeAllocatedChanged: // the asks of the application are evaluated again
		c.generation++
		c.mayPreemptChanged(was.App)
	case ApplicationMoved, ApplicationRemoved, RunningChanged, FirstStartingChanged, Rebuilding:
		c.generation++
	case ConfigurationChanged:
		c.generation++
		c.configGeneration++
	}
}
