package objects

import "fmt"

// checkAffinity counts anew what affinity, spread and host ports depend on. It compares the counts, and what each node
// is to a pending ask of every group with constraints. Without an ask or allocation with constraints nothing may be
// tracked.
func (c *recount) checkAffinity() error {
	kept := &c.p.journal.affinity
	for _, n := range kept.nodes.all {
		if tracked := n.tracked != nil; tracked != kept.tracking {
			return fmt.Errorf("node %s is tracked for affinity: %t, and the partition tracks: %t", n.ID(), tracked,
				kept.tracking)
		}
	}
	if !kept.tracking {
		return nil
	}
	var anew affinityChanges
	copies := make([]Node, len(kept.nodes.all))
	for i, n := range kept.nodes.all {
		copies[i] = *n
		anew.trackNode(&copies[i])
	}
	for _, a := range c.p.apps {
		for _, group := range a.askGroups.list {
			for _, x := range group.PendingAsks() {
				if x.Constrained() {
					anew.tracker.Acquire(x.ask.Affinity(), x.ask.Tags())
				}
			}
		}
	}
	if err := kept.tracker.Verify(&anew.tracker); err != nil {
		return err
	}
	for _, a := range c.p.apps {
		for _, group := range a.askGroups.list {
			if group.id.affinity == nil || group.empty() {
				continue
			}
			x := group.PendingAsks()[0]
			got, want := kept.tracker.Check(x.ask.Affinity(), x.ask.Tags()), anew.tracker.Check(x.ask.Affinity(), x.ask.Tags())
			for i, n := range kept.nodes.all {
				if g, w := got.Refusal(n.tracked), want.Refusal(copies[i].tracked); g != w {
					return fmt.Errorf("node %s refuses ask %s by %d; counted anew, by %d", n.ID(), x.Key(), g, w)
				}
			}
		}
	}
	return nil
}
