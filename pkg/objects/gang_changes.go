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

// MayReplace calls evaluate with the asks that wait and the placeholders that may be replaced of each application in
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

// wants leaves out the changes that give no ask a placeholder to replace, and no node free resources without
// nodeFreed.
func (*gangChanges) wants() changeSet {
	return 1<<askAdded | 1<<nominationEnded | 1<<allocationPosted | 1<<allocationResized | 1<<preemptionUnmarked |
		1<<replacementEnded | 1<<askGroupHeld | 1<<replaced | 1<<applicationRemoved | 1<<applicationMoved |
		1<<mayBeAllocatedChanged | 1<<nodeFreed | 1<<refusalsMayEnd
}

func (g *gangChanges) on(c *change) {
	switch c.kind {
	case askAdded, nominationEnded, allocationPosted, allocationResized, preemptionUnmarked:
		if x := c.ask; x.app.gang != nil && x.ask.TaskGroup() != "" {
			g.add(x.app)
		}
	case replacementEnded:
		g.add(c.ask.app)
	case askGroupHeld:
		g.add(c.group.app)
	case applicationMoved, mayBeAllocatedChanged:
		g.add(c.app)
	case replaced:
		g.replacedBy = append(g.replacedBy, c.ask)
	case applicationRemoved:
		delete(g.candidates, c.app)
		delete(g.unavailable, c.app)
		delete(g.refused, c.app)
		delete(g.tries, c.app)
	case nodeFreed:
		g.retry()
		g.mayFit()
	case refusalsMayEnd:
		g.retry()
	}
}
