package victim_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// minimalVictims selects the same victims as selectVictimsOnNode, on every node of random clusters, by every
// preemption reason, whether or not there is a plan (PRE-46).
func TestVictimSelector_MinimalVictimsEqualFullSelection(t *testing.T) {
	nodes, plans, several := 0, 0, 0
	clusters := testscale.Runs(10_000)
	for seed := range uint64(clusters) {
		d := newGenerator(seed)
		d.noGroups, d.limits, d.dense = seed%4 > 1, seed%3 == 2, seed%8 > 3
		p := d.cluster(t)
		ask := d.ask("ask")
		if d.dense {
			ask.Amounts = d.amounts(20) // many victims
			if d.oneIn(4) {
				ask.Amounts = resources.FromMap(map[string]resources.Quantity{"memory": resources.Quantity(1 + d.IntN(20))})
			}
		}
		if d.oneIn(5) {
			ask.Details.RequiredNode = "n0"
		}
		x, err := p.AddAsk(ask, epoch)
		assert.NilError(t, err)
		reasons, _ := preemption.EntitledReasons(fairshare.Of(p), x, afterDelays)
		search := victim.NewSearch(fairshare.New(p), 0, d.cycles(x)).At(afterDelays)
		for _, r := range reasons {
			minimal, full := victim.VictimsByBothSelectors(search, x, r)
			nodes += len(minimal)
			for i := range minimal {
				assert.DeepEqual(t, victimKeys(minimal[i]), victimKeys(full[i]))
				if len(minimal[i]) > 0 {
					plans++
				}
				if len(minimal[i]) > 1 {
					several++
				}
			}
		}
	}
	t.Logf("%d nodes, %d plans, %d of them with several victims", nodes, plans, several)
	assert.Assert(t, nodes > clusters/3 && plans > clusters/10 && several > clusters/60,
		"%d nodes, %d plans, %d with several victims", nodes, plans, several)
}

// victimKeys returns the keys of a list, up to a nil (see VictimsByBothSelectors).
func victimKeys(list []*objects.Allocation) (out []objects.AllocationKey) {
	for _, y := range list {
		if y == nil {
			return append(out, "(another plan)")
		}
		out = append(out, y.Key())
	}
	return out
}

// predicateCluster returns a partition with one leaf and nodes of three vcores, each full with the allocations
// low-NODE, neighbour-NODE and other-NODE, and an ask x for one vcore to which each of them is eligible.
func predicateCluster(t *testing.T, nodes ...objects.NodeID) (p *objects.Partition, x *objects.Allocation) {
	root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings()}
	leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
	leaf.PriorityPreemption = policies.PriorityPreemptionLeaf
	root.Children = append(root.Children, leaf)
	p = objects.NewPartition(configs.Partition{Name: "default", Root: root, PreemptionEnabled: true})
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, "root.a", nil, epoch))
	for _, n := range nodes {
		assert.NilError(t, p.AddNode(n, resources.FromMap(map[string]resources.Quantity{"vcore": 3}), nil, true))
		for i, key := range []objects.AllocationKey{"low-", "neighbour-", "other-"} {
			_, err := p.AddReported(&objects.Ask{Key: key + objects.AllocationKey(n), App: "app", Amounts: amounts,
				Priority: int32(i)}, n, epoch)
			assert.NilError(t, err)
		}
	}
	x, err := p.AddAsk(&objects.Ask{Key: "x", App: "app", Amounts: amounts, Priority: 9,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}, epoch)
	assert.NilError(t, err)
	return p, x
}

// The RM may accept the node only without an allocation that resources do not require as a victim (PRE-48).
func TestVictimSelector_ReprieveKeepsVictimsThePredicatesNeed(t *testing.T) {
	p, x := predicateCluster(t, "n")
	var asked [][]objects.AllocationKey
	plan, ok := victim.NewSearch(fairshare.New(p), 0, nil).Find(x, victim.ReasonPriority,
		func(_ *objects.Allocation, _ *objects.Node, victims []*objects.Allocation) bool {
			asked = append(asked, victimKeys(victims))
			return slices.Contains(asked[len(asked)-1], "neighbour-n")
		})
	assert.Assert(t, ok)
	assert.DeepEqual(t, victimKeys(plan.Victims), []objects.AllocationKey{"neighbour-n"})
	assert.DeepEqual(t, asked[:2], [][]objects.AllocationKey{{"low-n"}, {"other-n", "neighbour-n", "low-n"}})
}

// S3-44: an allocation that the ask needs beside it is no victim if a less important one is enough. S3-43: a node
// where that allocation would have to be preempted is infeasible, and another node is found (PRE-47).
func TestVictimSelector_S3_43_S3_44_AffinityNeighbourStays(t *testing.T) {
	p, x := predicateCluster(t, "a", "b")
	for _, c := range []struct{ affinity, victim objects.AllocationKey }{{"neighbour-a", "low-a"}, {"low-a", "low-b"}} {
		plan, ok := victim.NewSearch(fairshare.New(p), 0, nil).Find(x, victim.ReasonPriority,
			func(_ *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
				return !slices.Contains(victimKeys(victims), c.affinity)
			})
		assert.Assert(t, ok)
		assert.DeepEqual(t, victimKeys(plan.Victims), []objects.AllocationKey{c.victim})
	}
}
