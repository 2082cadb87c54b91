package nodeselection

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Check implements objects.Checker. It counts anew what affinity, spread and host ports depend on, which costs too much
// for each audit, and compares the counts, and what each node is to a pending ask of every group with constraints.
// Without an ask or allocation with constraints nothing may be tracked.
func (s *Nodes) Check(all bool) error {
	if !all {
		return nil
	}
	var anew affinity.Tracker
	copies := make([]*affinity.Node, objects.NodeCount(s.part))
	for n := range s.part.EachNode {
		if tracked := n.AffinityNode != nil; tracked != s.tracking {
			return fmt.Errorf("node %s is tracked for affinity: %t, and the partition tracks: %t", n.ID(), tracked, s.tracking)
		}
		if s.tracking {
			copies[n.ListIndex()] = count(&anew, n)
		}
	}
	if !s.tracking {
		return nil
	}
	groups := constrainedGroups(s.part.Root(), nil)
	for _, g := range groups {
		for _, x := range g {
			anew.Acquire(x.Ask().Affinity(), x.Ask().Tags())
		}
	}
	if err := s.tracker.Verify(&anew); err != nil {
		return err
	}
	for _, g := range groups {
		x := g[0].Ask()
		got, want := s.tracker.Check(x.Affinity(), x.Tags()), anew.Check(x.Affinity(), x.Tags())
		for n := range s.part.EachNode {
			if g, w := got.Refusal(n.AffinityNode), want.Refusal(copies[n.ListIndex()]); g != w {
				return fmt.Errorf("node %s refuses ask %s by %d; counted anew, by %d", n.ID(), x.Key, g, w)
			}
		}
	}
	return nil
}

// constrainedGroups appends the pending asks of each group in and below q whose asks have constraints.
func constrainedGroups(q *objects.Queue, out [][]*objects.Allocation) [][]*objects.Allocation {
	for _, a := range q.Applications() {
		for g := range a.EachAskGroup {
			if asks := g.PendingAsks(); len(asks) > 0 && asks[0].Constrained() {
				out = append(out, asks)
			}
		}
	}
	for _, c := range q.Children() {
		out = constrainedGroups(c, out)
	}
	return out
}
