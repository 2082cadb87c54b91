package gangscheduling

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// MayReplace calls evaluate with the asks that wait and the placeholders that may be Replaced of each application in
// which an ask may replace a placeholder, in the order of their submission and then of their IDs, until evaluate
// reports that it has changed something (GAN-6). An application without a result is evaluated again after a change that
// concerns it, or after one that may free resources of a node.
func (g *Gangs) MayReplace(evaluate func(asks, placeholders []*objects.Allocation) (changed bool)) {
	if len(g.candidates) == 0 {
		return
	}
	var all []*objects.Application
	for a := range g.candidates {
		if !g.has(a) {
			delete(g.candidates, a)
			continue
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *objects.Application) int {
		return cmp.Or(a.Submitted().Compare(b.Submitted()), cmp.Compare(a.ID(), b.ID()))
	})
	for _, a := range all {
		asks, placeholders := g.replacementCandidates(a)
		if len(asks) > 0 && len(placeholders) > 0 {
			if evaluate(asks, placeholders) {
				return
			}
			if g.unavailable == nil {
				g.unavailable = map[*objects.Application]struct{}{}
			}
			g.unavailable[a] = struct{}{}
		}
		delete(g.candidates, a)
	}
}

// replacementCandidates returns the asks of a that wait for placeholders, in order, and the placeholders that may be
// replaced, in key order (GAN-5). Both are new slices; without asks there are no placeholders either.
func (g *Gangs) replacementCandidates(a *objects.Application) (asks, placeholders []*objects.Allocation) {
	if a.Suspended() {
		return nil, nil
	}
	for group := range a.EachAskGroup {
		if !group.Held() {
			continue
		}
		for _, x := range group.PendingAsks() {
			if g.part.Nomination(x) == nil && g.part.Gangs().Replaces(x) == nil {
				asks = append(asks, x)
			}
		}
	}
	if len(asks) == 0 {
		return nil, nil
	}
	for x := range a.EachBound {
		if x.IsPlaceholder() && !g.part.Gangs().Ending(x) && !g.part.Preempting(x) {
			placeholders = append(placeholders, x)
		}
	}
	slices.SortFunc(asks, objects.CompareSelection)
	slices.SortFunc(placeholders, func(x, y *objects.Allocation) int { return cmp.Compare(x.Key(), y.Key()) })
	return asks, placeholders
}

// TakeReplaced returns the asks that were bound in the place of a placeholder since the last call, in that order. The
// list is valid until the partition changes.
func (g *Gangs) TakeReplaced() []*objects.Allocation {
	all := g.replacedBy
	g.replacedBy = all[:0]
	return all
}

// addCandidate has a evaluated, if asks of it wait for placeholders.
func (g *Gangs) addCandidate(a *objects.Application) {
	if a.Gang() == nil || a.Gang().Virtual() || !hasHeld(a) {
		return
	}
	if g.candidates == nil {
		g.candidates = map[*objects.Application]struct{}{}
	}
	g.candidates[a] = struct{}{}
}

func hasHeld(a *objects.Application) bool {
	for group := range a.EachAskGroup {
		if group.Held() {
			return true
		}
	}
	return false
}

// retry has what had no result evaluated again.
func (g *Gangs) retry() {
	for a := range g.unavailable {
		g.addCandidate(a)
	}
	clear(g.unavailable)
}
