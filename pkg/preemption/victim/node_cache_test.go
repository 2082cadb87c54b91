package victim_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// After any sequence of changes the updated node cache equals one built from nothing (PRE-99).
func TestNodeCache_IncrementalEqualsRebuilt(t *testing.T) {
	changes, clusters := map[string]int{}, testscale.Runs(300)
	for seed := range uint64(clusters) {
		d := newGenerator(seed)
		p := d.cluster(t)
		incremental := victim.NewSearch(fairshare.New(p), 0, nil)
		for step := range 40 {
			change := d.change(t, p, step)
			changes[change]++
			if d.oneIn(3) {
				continue // several changes between two syncs
			}
			got, want := victim.NodeCacheDump(incremental), victim.NodeCacheDump(victim.NewSearch(fairshare.New(p), 0, nil))
			assert.DeepEqual(t, got, want)
			assert.NilError(t, p.Check(), "seed %d, step %d, %s", seed, step, change)
		}
	}
	t.Log(changes)
	for _, change := range slices.Sorted(maps.Keys(changes)) {
		assert.Check(t, changes[change] > clusters/3, "change %q happened only %d times", change, changes[change])
	}
}

// change applies a random change to p that may affect a search, and returns its name.
func (d generator) change(t *testing.T, p *objects.Partition, step int) (changed string) {
	now := afterDelays.Add(time.Duration(step) * time.Second)
	n := pick(d, p.Nodes()...)
	var running *objects.Allocation
	for _, y := range n.Allocations() {
		if running == nil || d.oneIn(2) {
			running = y
		}
	}
	switch d.IntN(9) {
	case 0:
		changed = "node added"
		assert.NilError(t,
			p.AddNode(objects.NodeID(fmt.Sprint(pick(d, "a", "n", "z"), 10+step)), d.amounts(12), nil, !d.oneIn(6)))
	case 1:
		changed = "node removed"
		if len(p.Nodes()) > 2 {
			_, err := p.RemoveNode(n.ID(), now)
			assert.NilError(t, err)
		}
	case 2:
		changed = "node capacity changed"
		assert.NilError(t, p.SetCapacity(n.ID(), d.amounts(14)))
	case 3:
		changed = "node schedulable toggled"
		p.SetSchedulable(n, !n.Schedulable())
	case 4, 5:
		ask := d.ask(fmt.Sprint("late", step))
		changed = "allocation added"
		if d.oneIn(6) {
			changed = "allocation with a new resource added"
			ask.Amounts = ask.Amounts.Add(resources.FromMap(map[string]resources.Quantity{fmt.Sprint("r", step%2): 1}))
		}
		_, err := p.AddReported(ask, n.ID(), now)
		assert.NilError(t, err)
	case 6:
		changed = "allocation released"
		if running != nil {
			p.Release(running.Key(), now)
		}
	case 7:
		changed = "allocation preempted"
		if running != nil && !p.Preempting(running) && n.Schedulable() {
			x, err := p.AddAsk(d.ask(fmt.Sprint("preemptor", step)), now)
			assert.NilError(t, err)
			p.Preempt(x, n, []*objects.Allocation{running}, now)
		}
	case 8:
		changed = "configuration changed"
		conf := p.Config()
		conf.Root = d.tree()
		if d.oneIn(2) {
			changed, conf.Budgets = "budgets changed", d.budgets(t)
		}
		assert.NilError(t, p.Reconfigure(conf, nil))
	}
	return changed
}

// The heap yields indexes by rank and then by index, each once, in whatever order they were added.
func TestNodeHeap_YieldsByRankThenIndex(t *testing.T) {
	for seed := range uint64(500) {
		d := newGenerator(seed)
		var ranks []int64
		var indexes []int32
		of := map[int32]int64{}
		for range d.IntN(40) {
			index := int32(d.IntN(25))
			if _, known := of[index]; !known {
				of[index] = int64(d.IntN(4))
			}
			indexes, ranks = append(indexes, index), append(ranks, of[index])
		}
		var want []int
		for rank := range int64(4) {
			for _, index := range slices.Sorted(maps.Keys(of)) {
				if of[index] == rank {
					want = append(want, int(index))
				}
			}
		}
		assert.DeepEqual(t, victim.NodeHeapOrder(ranks, indexes), want)
	}
}

// The cache may be rebuilt between the two parts of one Find (on one node, then across nodes). Eligibilities
// cached by the index of a leaf are stale then.
func TestNodeCache_RebuiltWithinOneSearch(t *testing.T) {
	root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings()}
	for _, name := range []string{"home", "off", "open"} {
		leaf := configs.Queue{Name: name, Settings: configs.DefaultSettings()}
		leaf.PriorityPreemption = policies.PriorityPreemptionFence
		switch name {
		case "home": // its max blocks the ask, so Find tries across nodes too
			leaf.Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 4})
		case "off":
			leaf.PreemptionPolicy = policies.PreemptDisabled
		}
		root.Children = append(root.Children, leaf)
	}
	p := objects.NewPartition(configs.Partition{Name: "default", Root: root, PreemptionEnabled: true})
	amounts := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	for _, leaf := range []string{"home", "off", "open"} {
		assert.NilError(t,
			p.AddApplication(objects.AppID(leaf), security.User{Name: "ann"}, objects.QueuePath("root."+leaf), nil, epoch))
	}
	for i := range 4 {
		assert.NilError(t, p.AddNode(objects.NodeID(fmt.Sprint("n", i)), amounts(4), nil, true))
	}
	s := victim.NewSearch(fairshare.New(p), 0, nil)
	for i, x := range []struct{ app, node string }{
		{"open", "n1"}, {"off", "n0"}, {"off", "n0"}, {"open", "n1"}, {"home", "n2"}, {"open", "n2"}, {"home", "n3"},
		{"open", "n3"},
	} { // the cache meets the leaves in another order than a rebuild does
		_, err := p.AddReported(&objects.Ask{Key: objects.AllocationKey(fmt.Sprint("run", i)), App: objects.AppID(x.app),
			Amounts: amounts(2)}, objects.NodeID(x.node), epoch)
		assert.NilError(t, err)
		victim.NodeCacheDump(s)
	}
	victim.FillUpdateLog(s)
	for _, n := range p.Nodes() {
		assert.NilError(t, p.SetCapacity(n.ID(), amounts(4)))
	}
	x, err := p.AddAsk(&objects.Ask{Key: "x", App: "home", Amounts: amounts(4), Priority: 9,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}, epoch)
	assert.NilError(t, err)
	got, ok := s.Find(x, victim.ReasonPriority, nil)
	want, wantFound := victim.NewSearch(fairshare.New(p), 0, nil).Find(x, victim.ReasonPriority, nil)
	assert.Assert(t, ok && wantFound)
	assert.Equal(t, got.Node, want.Node)
	assert.DeepEqual(t, victimKeys(got.Victims), victimKeys(want.Victims))
	assert.Equal(t, got.Victims[0].Application().Queue().Path(), objects.QueuePath("root.open"))
}

// The cache does not grow when leaves and nodes are created and removed for ever.
func TestNodeCache_IsBounded(t *testing.T) {
	root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings()}
	p := objects.NewPartition(configs.Partition{Name: "default", Root: root, PreemptionEnabled: true})
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	for i := range 10 {
		assert.NilError(t, p.AddNode(objects.NodeID(fmt.Sprint("n", i)), amounts, nil, true))
	}
	s := victim.NewSearch(fairshare.New(p), 0, nil)
	for i := range 3000 {
		leaf, app := objects.QueuePath(fmt.Sprint("root.u", i)), objects.AppID(fmt.Sprint("a", i))
		assert.NilError(t, p.CreateLeaf(leaf, security.User{Name: "ann"}))
		assert.NilError(t, p.AddApplication(app, security.User{Name: "ann"}, leaf, nil, epoch))
		_, err := p.AddReported(&objects.Ask{Key: objects.AllocationKey(app), App: app, Amounts: amounts}, "n7", epoch)
		assert.NilError(t, err)
		assert.Assert(t, victim.CachedLeaves(s) < 200, "too many leaves are cached after %d", i)
		p.RemoveApplication(app, epoch)
		p.Expire(epoch.Add(time.Hour))
		_, err = p.RemoveNode("n7", epoch)
		assert.NilError(t, err)
		assert.NilError(t, p.AddNode("n7", amounts, nil, true))
	}
	for range 3000 { // without any search in between
		_, err := p.RemoveNode("n7", epoch)
		assert.NilError(t, err)
		assert.NilError(t, p.AddNode("n7", amounts, nil, true))
	}
	assert.Assert(t, victim.ChangedNodes(s) < 200)
}
