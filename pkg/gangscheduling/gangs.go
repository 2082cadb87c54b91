package gangscheduling

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Gangs keeps what the gangs of a partition wait for: asks for placeholders that they may replace, members for nodes on
// which they can be placed together, and what is free in the topology domains that they ask for. A pass costs nothing
// when nothing waits. It is not safe for concurrent use.
type Gangs struct {
	part *objects.Partition

	candidates  map[*objects.Application]struct{} // in which an ask may have a placeholder to replace: to evaluate
	unavailable map[*objects.Application]struct{} // evaluated, with asks and placeholders and without a result
	replacedBy  []*objects.Allocation             // bound in the place of placeholders, since TakeReplaced

	refused      map[*objects.Application]refusedGang // gangs that could not be placed together
	retryRefused bool                                 // they are tried again

	topology topologyTrees
	tries    map[*objects.Application]*TopologyTries // of gangs with a topology that wait
}

// New returns the Gangs of p, which has no application.
func New(p *objects.Partition) *Gangs {
	g := &Gangs{part: p, topology: topologyTrees{part: p}}
	objects.Attach(p, g)
	return g
}

// Idle reports whether there is nothing to examine before the next ask is placed.
func (g *Gangs) Idle() bool { return len(g.candidates)+len(g.refused)+len(g.replacedBy) == 0 }

// AnyUnavailable reports whether an ask that waits for a placeholder was refused every node.
func (g *Gangs) AnyUnavailable() bool { return len(g.unavailable) > 0 }

// has reports whether a is in the partition.
func (g *Gangs) has(a *objects.Application) bool {
	now, _ := g.part.Application(a.ID())
	return now == a
}

// Wants leaves out the changes that give no ask a placeholder to replace, no node free resources without NodeFreed, and
// no topology domain other nodes; where these are about a node, NodeUsageChanged comes with them.
func (*Gangs) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.NominationEnded | 1<<objects.AllocationPosted | 1<<objects.AllocationResized |
		1<<objects.PreemptionUnmarked | 1<<objects.ReplacementEnded | 1<<objects.AskGroupHeld | 1<<objects.Replaced |
		1<<objects.ApplicationRemoved | 1<<objects.ApplicationMoved | 1<<objects.MayBeAllocatedChanged |
		1<<objects.NodeFreed | 1<<objects.NodesOpened | 1<<objects.RefusalsMayEnd | 1<<objects.NodeAdded |
		1<<objects.NodeUsageChanged | 1<<objects.SchedulabilityChanged | 1<<objects.NodeAttributesChanged |
		1<<objects.NodeRemoved | 1<<objects.GangCountsChanged
}

// On implements objects.Consumer.
func (g *Gangs) On(c *objects.Change) {
	switch c.Kind {
	case objects.AskAdded, objects.NominationEnded, objects.AllocationPosted, objects.AllocationResized,
		objects.PreemptionUnmarked:
		if x := c.Ask; x.Application().Gang() != nil && x.Ask().TaskGroup() != "" {
			g.addCandidate(x.Application())
		}
	case objects.ReplacementEnded:
		g.addCandidate(c.Ask.Application())
	case objects.AskGroupHeld:
		g.addCandidate(c.Group.Application())
	case objects.GangCountsChanged:
		if !c.App.Gang().Waits() {
			delete(g.tries, c.App)
		}
	case objects.ApplicationMoved, objects.MayBeAllocatedChanged:
		g.addCandidate(c.App)
	case objects.Replaced:
		g.replacedBy = append(g.replacedBy, c.Ask)
	case objects.ApplicationRemoved:
		delete(g.candidates, c.App)
		delete(g.unavailable, c.App)
		delete(g.refused, c.App)
		delete(g.tries, c.App)
		g.topology.applicationRemoved(c.App)
	case objects.NodeFreed:
		g.retry()
		g.ExpireRefusals()
	case objects.NodesOpened, objects.RefusalsMayEnd:
		g.retry()
	case objects.NodeAdded, objects.NodeUsageChanged, objects.SchedulabilityChanged, objects.NodeAttributesChanged:
		g.topology.note(c.Node)
	case objects.NodeRemoved:
		g.topology.nodeRemoved(c.Node)
	}
}

// Check implements objects.Checker: what is free in topology domains is counted anew, which costs too much for each
// audit.
func (g *Gangs) Check(all bool) error {
	if !all {
		return nil
	}
	return g.topology.check(g.has)
}
