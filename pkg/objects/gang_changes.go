package objects

import (
	"cmp"
	"slices"
)

// gangChanges is what the replacement of placeholders needs to know of changes: in which applications an ask may have
// a placeholder to replace that it did not have when it was evaluated. A pass costs nothing when there is none.
type gangChanges struct {
	candidates  map[*Application]struct{} // to evaluate
	unavailable map[*Application]struct{} // evaluated, with asks and placeholders and without a result
	replacedBy  []*Allocation             // bound in the place of placeholders, since TakeReplaced

	refused      map[*Application]refusedGang // gangs that could not be placed together
	retryRefused bool                         // they are tried again

	tries map[*Application]*TopologyTries // of gangs with a topology that wait
}

// MayReplace calls evaluate with the asks that wait and the placeholders that may be Replaced of each application in
// which an ask may replace a placeholder, in the order of their submission and then of their IDs, until evaluate
// reports that it has changed something (GAN-6). An application without a result is evaluated again after a change that
// concerns it, or after one that may free resources of a node.
func (l GangLedger) MayReplace(evaluate func(asks, placeholders []*Allocation) (changed bool)) {
	c := &l.p.journal.gangs
	if len(c.candidates) == 0 {
		return
	}
	var all []*Application
	for a := range c.candidates {
		if l.p.apps[a.ID()] != a {
			delete(c.candidates, a)
			continue
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *Application) int {
		return cmp.Or(cmp.Compare(a.key.Submitted, b.key.Submitted), cmp.Compare(a.ID(), b.ID()))
	})
	for _, a := range all {
		asks, placeholders := a.ReplacementCandidates(l.p)
		if len(asks) > 0 && len(placeholders) > 0 {
			if evaluate(asks, placeholders) {
				return
			}
			if c.unavailable == nil {
				c.unavailable = map[*Application]struct{}{}
			}
			c.unavailable[a] = struct{}{}
		}
		delete(c.candidates, a)
	}
}

// add has a evaluated, if asks of it wait for placeholders.
func (g *gangChanges) add(a *Application) {
	if a.gang == nil || a.gang.Virtual() || !slices.ContainsFunc(a.askGroups.list, (*AskGroup).Held) {
		return
	}
	if g.candidates == nil {
		g.candidates = map[*Application]struct{}{}
	}
	g.candidates[a] = struct{}{}
}

// retry has what had no result evaluated again.
func (g *gangChanges) retry() {
	for a := range g.unavailable {
		g.add(a)
	}
	clear(g.unavailable)
}

// mayFit has the gangs that were refused tried again.
func (g *gangChanges) mayFit() { g.retryRefused = len(g.refused) > 0 }

// Wants leaves out the changes that give no ask a placeholder to replace, and no node free resources without
// nodeFreed.
func (*gangChanges) Wants() ChangeSet {
	return 1<<AskAdded | 1<<NominationEnded | 1<<AllocationPosted | 1<<AllocationResized | 1<<PreemptionUnmarked |
		1<<ReplacementEnded | 1<<AskGroupHeld | 1<<Replaced | 1<<ApplicationRemoved | 1<<ApplicationMoved |
		1<<MayBeAllocatedChanged | 1<<NodeFreed | 1<<RefusalsMayEnd
}

func (g *gangChanges) On(c *Change) {
	switch c.Kind {
	case AskAdded, NominationEnded, AllocationPosted, AllocationResized, PreemptionUnmarked:
		if x := c.Ask; x.app.gang != nil && x.ask.TaskGroup() != "" {
			g.add(x.app)
		}
	case ReplacementEnded:
		g.add(c.Ask.app)
	case AskGroupHeld:
		g.add(c.Group.app)
	case ApplicationMoved, MayBeAllocatedChanged:
		g.add(c.App)
	case Replaced:
		g.replacedBy = append(g.replacedBy, c.Ask)
	case ApplicationRemoved:
		delete(g.candidates, c.App)
		delete(g.unavailable, c.App)
		delete(g.refused, c.App)
		delete(g.tries, c.App)
	case NodeFreed:
		g.retry()
		g.mayFit()
	case RefusalsMayEnd:
		g.retry()
	}
}
