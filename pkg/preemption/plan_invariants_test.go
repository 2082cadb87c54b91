package preemption_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Every plan in some thousand random clusters obeys every law. The laws are said here once
// more, of a plan that is there, and not of how it came about.
func TestPreemption_PlanInvariantsOnRandomClusters(t *testing.T) {
	invariants := []struct {
		name string
		law  func(*testing.T, *objects.Partition, preemption.Plan)
	}{
		{"P1 a plan has one right, that its ask has", isEntitled},
		{"P3 victims are less important", victimsAreLessImportant},
		{"P4 no queue falls below its guarantee for another one", guaranteesHold},
		{"P5 the ask fits every quota when they have gone", askFitsAfterVictims},
		{"P6 fences and disabled queues hold", victimsAreInScope},
		{"P7 system work is out of reach of user work", systemPriorityIsSpared},
		{"P8 who needs its node, or leaves already, is no victim", requiredNodeIsSpared},
		{"P9 every one of them is needed", everyVictimIsNeeded},
		{"P10 what runs on the node becomes more important, or shortfalls smaller", makesProgress},
		{"2.8 groups go whole", groupsGoWhole},
		{"a strict queue gives up nobody beyond a budget", strictBudgetsHold},
	}
	found := map[preemption.Reason]int{}
	victims, coolDownHits := 0, 0
	clusters := testscale.Runs(3000)
	for seed := range uint64(clusters) {
		d := nodeCache(seed)
		p := d.cluster(t)
		ask := d.ask("ask")
		if d.oneIn(5) {
			ask.RequiredNode = "n0"
		}
		ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptOther, !d.oneIn(6))
		x, err := p.AddAsk(ask, epoch)
		assert.NilError(t, err)
		reasons, _ := preemption.EntitledReasons(p, x, afterDelays)
		cycles := d.cycles(x)
		search := preemption.NewSearch(p, pick(d, 0, 1, 2), cycles)
		for _, r := range reasons {
			plan, ok := search.Find(x, r, nil)
			if !ok {
				continue
			}
			found[r]++
			victims += len(plan.Victims)
			for _, l := range invariants {
				l.law(t, p, plan)
				assert.Assert(t, !t.Failed(), "seed %d, %s, by %s: %v on %s for %v", seed, l.name, r, describeAllocations(plan.Victims), plan.Node.ID(), describeAllocations([]*objects.Allocation{x}))
			}
			coolDownHits += checkCoolDowns(t, cycles, x, search.Candidates(plan))
			assert.NilError(t, p.Check())
		}
	}
	assert.Assert(t, coolDownHits > clusters/60, "pauses kept only %d", coolDownHits)
	t.Log(found, victims, coolDownHits)
	for _, r := range []preemption.Reason{preemption.ReasonRequiredNode, preemption.ReasonGuarantee, preemption.ReasonPriority} {
		assert.Assert(t, found[r] >= clusters/20, "only %d plans by right of %s", found[r], r)
	}
	assert.Assert(t, victims > clusters/4, "only %d victims", victims)
}

func describeAllocations(list []*objects.Allocation) (text []string) {
	for _, y := range list {
		text = append(text, fmt.Sprintf("%s of %s, %d, %s", y.Key(), y.Application().Queue().Path(), y.Ask().Priority, y.Ask().TaskGroup))
	}
	return text
}

// checkCoolDowns holds candidates against the pauses of their leaves with that of the ask, and
// counts whom they keep.
func checkCoolDowns(t *testing.T, cycles *preemption.CycleDetector, x *objects.Allocation, candidates []preemption.Candidate) (kept int) {
	askLeaf := x.Application().Queue().Path()
	for _, y := range candidates {
		paused := false
		for _, p := range cycles.CoolDowns() {
			leaf := y.Application().Queue().Path()
			paused = paused || p.A == askLeaf && p.B == leaf || p.A == leaf && p.B == askLeaf
		}
		assert.Check(t, !paused || !y.Victim)
		if y.Ineligible == preemption.IneligibleCoolDown {
			assert.Check(t, paused)
			kept++
		}
	}
	return kept
}

func isEntitled(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	reasons, _ := preemption.EntitledReasons(p, plan.Ask, afterDelays)
	assert.Check(t, slices.Contains(reasons, plan.Reason) && plan.Ask.Ask().Policy.AllowPreemptOther())
	assert.Check(t, plan.Reason != preemption.ReasonRequiredNode || plan.Node.ID() == plan.Ask.Ask().RequiredNode)
	assert.Check(t, plan.Node.Schedulable())
}

// limitedGroup are those that fall with y.
func groupOf(p *objects.Partition, y *objects.Allocation) (all []*objects.Allocation) {
	unit := y.Application().Queue().Settings().VictimUnit
	for _, z := range y.Application().Allocations() {
		if z == y || !z.Pending() && !p.Preempting(z) && (unit == policies.VictimUnitApplication ||
			unit == policies.VictimUnitTaskGroup && y.Ask().TaskGroup != "" && z.Ask().TaskGroup == y.Ask().TaskGroup) {
			all = append(all, z)
		}
	}
	return all
}

// groupPriority is the priority of the group of y.
func groupPriority(p *objects.Partition, y *objects.Allocation) (n int32) {
	n = y.VictimPriority()
	for _, z := range groupOf(p, y) {
		n = max(n, z.VictimPriority())
	}
	return n
}

// path is a queue and all above it.
func path(q *objects.Queue) (all []*objects.Queue) {
	for ; q != nil; q = q.Parent() {
		all = append(all, q)
	}
	return all
}

// queuesOnlyOf are the queues that y is in and x is not.
func queuesOnlyOf(x, y *objects.Allocation) (all []*objects.Queue) {
	for _, q := range path(y.Application().Queue()) {
		if !slices.Contains(path(x.Application().Queue()), q) {
			all = append(all, q)
		}
	}
	return all
}

func exposedPriority(n int32, through []*objects.Queue) int64 {
	v := int64(n)
	for _, q := range through {
		if q.Settings().PriorityPolicy == policies.PriorityFence {
			v = 0
		}
		v = min(max(v+int64(q.Settings().PriorityOffset), -1<<31), 1<<31-1)
	}
	return v
}

func victimsAreLessImportant(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	x := plan.Ask
	for _, y := range plan.Victims {
		own, other := exposedPriority(x.Ask().Priority, queuesOnlyOf(y, x)), exposedPriority(groupPriority(p, y), queuesOnlyOf(x, y))
		switch plan.Reason {
		case preemption.ReasonRequiredNode:
			assert.Check(t, groupPriority(p, y) <= x.Ask().Priority)
		case preemption.ReasonGuarantee:
			assert.Check(t, other <= own)
		case preemption.ReasonPriority:
			assert.Check(t, other < own)
		}
	}
}

// held is what a queue will hold when those have gone who were told to, and also are not there.
func held(p *objects.Partition, q *objects.Queue, also []*objects.Allocation) resources.Amounts {
	sum := p.Amounts(q.Allocated())
	for _, n := range p.Nodes() {
		for _, y := range n.Allocations() {
			if q.IsSelfOrAncestorOf(y.Application().Queue()) && (p.Preempting(y) || slices.Contains(also, y)) {
				sum = sum.Sub(y.Ask().Amounts)
			}
		}
	}
	return sum
}

func guaranteesHold(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	if plan.Reason == preemption.ReasonRequiredNode {
		return
	}
	for _, y := range plan.Victims {
		for _, q := range queuesOnlyOf(plan.Ask, y) {
			left := held(p, q, plan.Victims)
			for name, n := range y.Ask().Amounts.All() {
				if g, ok := q.Guaranteed().Get(name); ok && n > 0 {
					assert.Check(t, left.Get(name) >= g, "%s has %d of %d %s left", q.Path(), left.Get(name), g, name)
				}
			}
		}
	}
}

// fits reports whether the ask of a plan could be placed if these had gone, and all who were
// told to go.
func fits(p *objects.Partition, plan preemption.Plan, victims []*objects.Allocation) bool {
	try := p.Try()
	defer try.End()
	for _, n := range p.Nodes() {
		for _, y := range n.Allocations() {
			if p.Preempting(y) || slices.Contains(victims, y) {
				try.Without(y.Key())
			}
		}
	}
	return plan.Node.FreeFor(plan.Ask).Covers(plan.Ask.Shape().Vector()) && len(p.QuotaShortfalls(plan.Ask)) == 0
}

func askFitsAfterVictims(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	assert.Check(t, fits(p, plan, plan.Victims))
}

func everyVictimIsNeeded(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	for _, y := range plan.Victims {
		without := slices.DeleteFunc(slices.Clone(plan.Victims), func(z *objects.Allocation) bool {
			return slices.Contains(groupOf(p, y), z)
		})
		assert.Check(t, !fits(p, plan, without), "%s need not go", y.Key())
	}
}

func victimsAreInScope(t *testing.T, _ *objects.Partition, plan preemption.Plan) {
	if plan.Reason == preemption.ReasonRequiredNode {
		return
	}
	x := plan.Ask
	for _, y := range plan.Victims {
		leaf := y.Application().Queue()
		assert.Check(t, leaf.Settings().PreemptionPolicy != policies.PreemptDisabled)
		for _, q := range queuesOnlyOf(y, x) {
			assert.Check(t, q.Settings().PreemptionPolicy != policies.PreemptFence, "%s is beyond the fence %s", y.Key(), q.Path())
		}
		if plan.Reason == preemption.ReasonPriority && x.Application().Queue().Settings().PriorityPreemption == policies.PriorityPreemptionLeaf {
			assert.Check(t, leaf == x.Application().Queue())
		}
	}
}

func systemPriorityIsSpared(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	for _, y := range plan.Victims {
		assert.Check(t, groupPriority(p, y) < 2_000_000_000 || plan.Ask.Ask().Priority > groupPriority(p, y))
	}
}

func requiredNodeIsSpared(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	seen := map[*objects.Allocation]bool{}
	for _, y := range plan.Victims {
		assert.Check(t, !y.Pending() && !p.Preempting(y) && y.Ask().RequiredNode == "" && !seen[y])
		seen[y] = true
	}
}

func groupsGoWhole(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	for _, y := range plan.Victims {
		for _, z := range groupOf(p, y) {
			assert.Check(t, slices.Contains(plan.Victims, z), "%s stays without %s", z.Key(), y.Key())
		}
	}
}

// shortfall is by how much queues are below their guarantees: all but those that ask and
// victims share, where only the difference of their sizes counts.
func shortfall(p *objects.Partition, q *objects.Queue, plan preemption.Plan, after bool) (sum resources.Quantity) {
	var also []*objects.Allocation
	if after {
		also = plan.Victims
	}
	common := q.IsSelfOrAncestorOf(plan.Ask.Application().Queue()) && slices.ContainsFunc(plan.Victims, func(y *objects.Allocation) bool {
		return q.IsSelfOrAncestorOf(y.Application().Queue())
	})
	has := held(p, q, also)
	if after && q.IsSelfOrAncestorOf(plan.Ask.Application().Queue()) {
		has = has.Add(plan.Ask.Ask().Amounts)
	}
	for name, g := range q.Guaranteed().All() {
		if !common {
			sum += max(0, g-has.Get(name))
		}
	}
	for _, child := range q.Children() {
		sum += shortfall(p, child, plan, after)
	}
	return sum
}

// makesProgress is why nobody is preempted to and fro (P10): the best that runs on the node
// becomes better, or the queues together come closer to what they are guaranteed.
func makesProgress(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	switch {
	case len(plan.Victims) == 0:
	case plan.Reason == preemption.ReasonGuarantee:
		before, after := shortfall(p, p.Root(), plan, false), shortfall(p, p.Root(), plan, true)
		assert.Check(t, after < before, "shortfalls add up to %d, and to %d before", after, before)
	case plan.Reason == preemption.ReasonPriority:
		for _, y := range plan.Victims {
			if y.Application().Queue() == plan.Ask.Application().Queue() {
				assert.Check(t, groupPriority(p, y) < plan.Ask.Ask().Priority)
			}
		}
	}
}

func strictBudgetsHold(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	strict := map[*objects.Budget]int{}
	for _, y := range plan.Victims {
		if y.Application().Queue().Settings().BudgetPolicy == policies.BudgetsStrict {
			for _, b := range p.BudgetsOf(y) {
				strict[b]++
			}
		}
	}
	for b, n := range strict {
		assert.Check(t, n <= max(b.DisruptionsAllowed(), 0), "%d of budget %s leave, %d may", n, b.Name(), b.DisruptionsAllowed())
	}
}
