package objects

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// gangChanges is what the replacement of placeholders needs to know of changes: in which applications an ask may have
// a placeholder to replace that it did not have when it was evaluated. A pass costs nothing when there is none.
type gangChanges struct {
	ignoreAccountChanges
	ignoreConfigurationChanges

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
func (c *gangChanges) add(a *Application) {
	if a.gang == nil || a.gang.Virtual() || !slices.ContainsFunc(a.askGroups.list, (*AskGroup).Held) {
		return
	}
	if c.candidates == nil {
		c.candidates = map[*Application]struct{}{}
	}
	c.candidates[a] = struct{}{}
}

// retry has what had no result evaluated again.
func (c *gangChanges) retry() {
	for a := range c.unavailable {
		c.add(a)
	}
	clear(c.unavailable)
}

func (c *gangChanges) gangRefused(a *Application, members []MemberGroup) {
	if c.refused == nil {
		c.refused = map[*Application]refusedGang{}
	}
	c.refused[a] = newRefusedGang(members)
}

// mayFit has the gangs that were refused tried again.
func (c *gangChanges) mayFit() { c.retryRefused = len(c.refused) > 0 }

func (c *gangChanges) addIfGang(x *Allocation) {
	if x.app.gang != nil && x.ask.TaskGroup() != "" {
		c.add(x.app)
	}
}

func (c *gangChanges) askAdded(x *Allocation, _ groupPosition)          { c.addIfGang(x) }
func (c *gangChanges) nominationEnded(x *Allocation, _ EndedNomination) { c.addIfGang(x) }
func (c *gangChanges) allocationPosted(x *Allocation)                   { c.addIfGang(x) }
func (c *gangChanges) allocationResized(x *Allocation)                  { c.addIfGang(x) }
func (c *gangChanges) preemptionUnmarked(x *Allocation)                 { c.addIfGang(x) }
func (c *gangChanges) replacementEnded(x, _ *Allocation)                { c.add(x.app) }
func (c *gangChanges) askGroupHeld(group *AskGroup)                     { c.add(group.app) }
func (c *gangChanges) replaced(x *Allocation)                           { c.replacedBy = append(c.replacedBy, x) }
func (c *gangChanges) applicationRemoved(a *Application) {
	delete(c.candidates, a)
	delete(c.unavailable, a)
	delete(c.refused, a)
	delete(c.tries, a)
}

func (c *gangChanges) nodeFreed(*Node) {
	c.retry()
	c.mayFit()
}

func (c *gangChanges) refusalsMayEnd() { c.retry() }

// The other changes give no ask a placeholder to replace, and no node free resources without nodeFreed.

func (*gangChanges) askRemoved(*Allocation, *AskGroup)                      {}
func (*gangChanges) nominationAdded(*Allocation, *Node)                     {}
func (*gangChanges) nominationRemoved(*Allocation, *Node)                   {}
func (*gangChanges) reservationAdded(*Allocation, *Node)                    {}
func (*gangChanges) reservationEnded(*Allocation, EndedReservation)         {}
func (*gangChanges) waitingStateChanged(*Allocation)                        {}
func (*gangChanges) allocationUnposted(*Allocation)                         {}
func (*gangChanges) allocationTagged(*Allocation)                           {}
func (*gangChanges) preemptionMarked(*Allocation)                           {}
func (*gangChanges) placeholderEnding(*Allocation)                          {}
func (*gangChanges) replacementAdded(*Allocation, *Allocation)              {}
func (*gangChanges) gangCountsChanged(*Application)                         {}
func (*gangChanges) nodeAdded(*Node)                                        {}
func (*gangChanges) nodeRemoved(*Node)                                      {}
func (*gangChanges) nodeUsageChanged(*Node)                                 {}
func (*gangChanges) nodeRestored(*Node)                                     {}
func (*gangChanges) schedulabilityChanged(*Node)                            {}
func (*gangChanges) nodeAttributesChanged(*Node)                            {}
func (*gangChanges) nodeBudgetsChanged(*Node)                               {}
func (*gangChanges) foreignAdded(*Node, *Foreign)                           {}
func (*gangChanges) foreignRemoved(*Node, *Foreign)                         {}
func (*gangChanges) queueUsageChanged(*Queue)                               {}
func (*gangChanges) queuePreemptingChanged(*Queue)                          {}
func (*gangChanges) queueChanged(*Queue)                                    {}
func (*gangChanges) queueStateChanged(*Queue, QueueChange)                  {}
func (*gangChanges) queueTreeChanged()                                      {}
func (*gangChanges) applicationAdded(*Application)                          {}
func (*gangChanges) applicationStateChanged(*Application, lifecycle.Change) {}
func (*gangChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change)  {}
func (*gangChanges) runningChanged(*Application)                            {}
func (*gangChanges) firstStartingChanged(*Application)                      {}
func (c *gangChanges) applicationMoved(a *Application, _ *Queue)            { c.add(a) }
func (*gangChanges) mayPreemptChanged(*Application)                         {}
func (c *gangChanges) mayBeAllocatedChanged(a *Application)                 { c.add(a) }
func (*gangChanges) capacityChanged(*Queue)                                 {}
func (*gangChanges) queueSettingsChanged(*Queue)                            {}
func (*gangChanges) quotasChanged(*Queue)                                   {}
func (*gangChanges) queueRunningChanged(*Queue)                             {}
