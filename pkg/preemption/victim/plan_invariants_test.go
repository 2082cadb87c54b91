package victim_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Every plan on random clusters obeys the rules of docs/behaviour/preemption.md, which are checked here on the
// plan itself, independently of how it was found.
func TestPreemption_PlanInvariantsOnRandomClusters(t *testing.T) {
	invariants := []struct {
		name  string
		check func(*testing.T, *objects.Partition, victim.Plan)
	}{
		{"PRE-7 PRE-8 the ask is entitled to the reason of the plan", isEntitled},
		{"PRE-29 PRE-30 PRE-32 victims have lower priority", victimsAreLessImportant},
		{"PRE-34 no queue falls below its guarantee for another one", guaranteesHold},
		{"PRE-121 no victim is for what exceeds the guarantee", noVictimBeyondGuarantee},
		{"PRE-59 the ask fits every quota once the victims have ended", askFitsAfterVictims},
		{"PRE-19 PRE-26 PRE-28 fences and disabled queues protect", victimsAreInScope},
		{"PRE-25 system priority is out of reach of lower asks", systemPriorityIsSpared},
		{"PRE-22 PRE-23 required-node and preempting allocations are no victims", requiredNodeIsSpared},
		{"PRE-124 what has just begun is no victim where that is strict", youngIsSpared},
		{"PRE-39 every victim is needed", everyVictimIsNeeded},
		{"PRE-102 priorities on the node rise, or shortfalls shrink", makesProgress},
		{"PRE-50 PRE-52 groups are preempted whole", groupsGoWhole},
		{"PRE-68 strict queues lose no allocation beyond a budget", strictBudgetsHold},
	}
	found := map[victim.Reason]int{}
	victims, coolDownHits := 0, 0
	clusters := testscale.Runs(3000)
	for seed := range uint64(clusters) {
		d := newGenerator(seed)
		p := d.cluster(t)
		ask := d.ask("ask")
		if d.oneIn(5) {
			ask.Details.RequiredNode = "n0"
		}
		ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptOther, !d.oneIn(6))
		x, err := p.AddAsk(ask, epoch)
		assert.NilError(t, err)
		reasons, _ := preemption.EntitledReasons(fairshare.Of(p), x, afterDelays)
		cycles := d.cycles(x)
		search := victim.NewSearch(fairshare.New(p), pick(d, 0, 1, 2), cycles).At(afterDelays)
		for _, r := range reasons {
			plan, ok := search.Find(x, r, nil)
			if !ok {
				continue
			}
			found[r]++
			victims += len(plan.Victims)
			for _, invariant := range invariants {
				invariant.check(t, p, plan)
				assert.Assert(t, !t.Failed(), "seed %d, %s, by %s: %v on %s for %v", seed, invariant.name, r,
					describeAllocations(plan.Victims), plan.Node.ID(), describeAllocations([]*objects.Allocation{x}))
			}
			coolDownHits += checkCoolDowns(t, cycles, x, search.Candidates(plan))
			assert.NilError(t, p.Check())
		}
	}
	assert.Assert(t, coolDownHits > clusters/60, "cool-downs protected only %d candidates", coolDownHits)
	t.Log(found, victims, coolDownHits)
	for _, r := range []victim.Reason{victim.ReasonRequiredNode, victim.ReasonGuarantee, victim.ReasonPriority} {
		assert.Assert(t, found[r] >= clusters/20, "only %d plans by reason of %s", found[r], r)
	}
	assert.Assert(t, victims > clusters/4, "only %d victims", victims)
}

func describeAllocations(list []*objects.Allocation) (text []string) {
	for _, y := range list {
		text = append(text,
			fmt.Sprintf("%s of %s, %d, %s", y.Key(), y.Application().Queue().Path(), y.Ask().Priority, y.Ask().TaskGroup()))
	}
	return text
}

// checkCoolDowns compares candidates with the cool-downs of their leaves (PRE-105) and returns how many a
// cool-down protects.
func checkCoolDowns(t *testing.T, cycles *preemption.CycleDetector, x *objects.Allocation,
	candidates []victim.Candidate) (protected int) {
	askLeaf := x.Application().Queue().Path()
	for _, y := range candidates {
		coolingDown := false
		for _, p := range cycles.CoolDowns() {
			leaf := y.Application().Queue().Path()
			coolingDown = coolingDown || p.A == askLeaf && p.B == leaf || p.A == leaf && p.B == askLeaf
		}
		assert.Check(t, !coolingDown || !y.Victim)
		if y.Ineligible == victim.IneligibleCoolDown {
			assert.Check(t, coolingDown)
			protected++
		}
	}
	return protected
}

func isEntitled(t *testing.T, p *objects.Partition, plan victim.Plan) {
	reasons, _ := preemption.EntitledReasons(fairshare.Of(p), plan.Ask, afterDelays)
	assert.Check(t, slices.Contains(reasons, plan.Reason) && plan.Ask.Ask().Policy.AllowPreemptOther())
	assert.Check(t, plan.Reason != victim.ReasonRequiredNode || plan.Node.ID() == plan.Ask.Ask().RequiredNode())
	assert.Check(t, plan.Node.Schedulable())
}

// groupOf returns the victim group of y, or y alone.
func groupOf(p *objects.Partition, y *objects.Allocation) (all []*objects.Allocation) {
	unit := y.Application().Queue().Settings().VictimUnit
	for _, z := range y.Application().Allocations() {
		if z == y || !z.Pending() && !p.Preempting(z) && (unit == policies.VictimUnitApplication ||
			unit == policies.VictimUnitTaskGroup && y.Ask().TaskGroup() != "" && z.Ask().TaskGroup() == y.Ask().TaskGroup()) {
			all = append(all, z)
		}
	}
	return all
}

// groupPriority returns the priority of the victim group of y.
func groupPriority(p *objects.Partition, y *objects.Allocation) (n int32) {
	n = victim.VictimPriority(y)
	for _, z := range groupOf(p, y) {
		n = max(n, victim.VictimPriority(z))
	}
	return n
}

// path returns a queue and all its ancestors.
func path(q *objects.Queue) (all []*objects.Queue) {
	for ; q != nil; q = q.Parent() {
		all = append(all, q)
	}
	return all
}

// queuesOnlyOf returns the queues on the path of y that are not on the path of x.
func queuesOnlyOf(x, y *objects.Allocation) (all []*objects.Queue) {
	for _, q := range path(y.Application().Queue()) {
		if !slices.Contains(path(x.Application().Queue()), q) {
			all = append(all, q)
		}
	}
	return all
}

// exposedPriority returns a priority after the offsets and fences of queues, from the leaf up (PRE-29).
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

func victimsAreLessImportant(t *testing.T, p *objects.Partition, plan victim.Plan) {
	x := plan.Ask
	for _, y := range plan.Victims {
		own, other := exposedPriority(x.Ask().Priority, queuesOnlyOf(y, x)),
			exposedPriority(groupPriority(p, y), queuesOnlyOf(x, y))
		switch plan.Reason {
		case victim.ReasonRequiredNode:
			assert.Check(t, groupPriority(p, y) <= x.Ask().Priority)
		case victim.ReasonGuarantee:
			assert.Check(t, other <= own)
		case victim.ReasonPriority:
			assert.Check(t, other < own)
		}
	}
}

// held is what a queue will hold when its preempting allocations and also have ended.
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

func guaranteesHold(t *testing.T, p *objects.Partition, plan victim.Plan) {
	if plan.Reason == victim.ReasonRequiredNode {
		return
	}
	for _, y := range plan.Victims {
		for _, q := range queuesOnlyOf(plan.Ask, y) {
			remaining := held(p, q, plan.Victims)
			for name, n := range y.Ask().Amounts.All() {
				if g, ok := q.Guaranteed().Get(name); ok && n > 0 {
					assert.Check(t, remaining.Get(name) >= g, "%s keeps %d of %d guaranteed %s", q.Path(), remaining.Get(name), g,
						name)
				}
			}
		}
	}
}

// fits reports whether the ask of a plan could be placed if victims and the preempting allocations had ended. It
// recounts node and queues from their lists of allocations. Other nominees of at least the priority of the ask go
// before it (PRE-76).
func fits(p *objects.Partition, plan victim.Plan, victims []*objects.Allocation) bool {
	return fitsWith(p, plan, plan.Ask.Ask().Amounts, victims)
}

// fitsWith is fits for an ask that requests other amounts.
func fitsWith(p *objects.Partition, plan victim.Plan, requested resources.Amounts, victims []*objects.Allocation) bool {
	x := plan.Ask
	var counts []*objects.Allocation // what the node and the queues have then, beside x
	for _, n := range p.Nodes() {
		for _, y := range n.Allocations() {
			if !p.Preempting(y) && !slices.Contains(victims, y) {
				counts = append(counts, y)
			}
		}
	}
	for _, y := range p.Nominees() {
		if y != x && y.Ask().Priority >= x.Ask().Priority {
			counts = append(counts, y)
		}
	}
	within := func(bound resources.Amounts, names func(string) bool, member func(*objects.Allocation) bool) bool {
		used := requested
		for _, y := range counts {
			if member(y) {
				used = used.Add(y.Ask().Amounts)
			}
		}
		for name, n := range requested.All() {
			if n > 0 && names(name) && used.Get(name) > bound.Get(name) {
				return false
			}
		}
		return true
	}
	every := func(string) bool { return true }
	if !within(p.Amounts(plan.Node.Total()), every, func(y *objects.Allocation) bool {
		return y.Node() == plan.Node || p.Nomination(y) == plan.Node
	}) {
		return false
	}
	for _, q := range path(x.Application().Queue()) {
		bound, names := resources.FromMap(q.Max().Map()), func(name string) bool { _, ok := q.Max().Get(name); return ok }
		if q.Parent() == nil {
			bound, names = p.Amounts(p.Capacity()), every
		}
		if !within(bound, names, func(y *objects.Allocation) bool { return q.IsSelfOrAncestorOf(y.Application().Queue()) }) {
			return false
		}
	}
	return true
}

// noVictimBeyondGuarantee: what the ask requests of the resources in which the entitling queue exceeds its guarantee
// fits without a victim.
func noVictimBeyondGuarantee(t *testing.T, p *objects.Partition, plan victim.Plan) {
	if plan.Reason != victim.ReasonGuarantee {
		return
	}
	q, _ := victim.GuaranteedQueue(plan.Ask)
	used, beyond := held(p, q, nil), map[string]resources.Quantity{}
	for _, y := range p.Nominees() {
		if q.IsSelfOrAncestorOf(y.Application().Queue()) {
			used = used.Add(y.Ask().Amounts)
		}
	}
	for name, n := range plan.Ask.Ask().Amounts.All() {
		if g, ok := q.Guaranteed().Get(name); ok && n > 0 && used.Get(name)+n > g {
			beyond[name] = n
		}
	}
	assert.Check(t, len(beyond) == 0 || q.Settings().PreemptionGuarantee == policies.PreemptionGuaranteeLacking)
	assert.Check(t, fitsWith(p, plan, resources.FromMap(beyond), nil), "victims for %v", beyond)
}

func askFitsAfterVictims(t *testing.T, p *objects.Partition, plan victim.Plan) {
	assert.Check(t, fits(p, plan, plan.Victims))
}

func everyVictimIsNeeded(t *testing.T, p *objects.Partition, plan victim.Plan) {
	for _, y := range plan.Victims {
		without := slices.DeleteFunc(slices.Clone(plan.Victims), func(z *objects.Allocation) bool {
			return slices.Contains(groupOf(p, y), z)
		})
		assert.Check(t, !fits(p, plan, without), "victim %s is not needed", y.Key())
	}
}

func victimsAreInScope(t *testing.T, _ *objects.Partition, plan victim.Plan) {
	if plan.Reason == victim.ReasonRequiredNode {
		return
	}
	x := plan.Ask
	for _, y := range plan.Victims {
		leaf := y.Application().Queue()
		assert.Check(t, leaf.Settings().PreemptionPolicy != policies.PreemptDisabled)
		for _, q := range queuesOnlyOf(y, x) {
			assert.Check(t, q.Settings().PreemptionPolicy != policies.PreemptFence, "%s is outside the fence %s", y.Key(),
				q.Path())
		}
		if plan.Reason == victim.ReasonPriority &&
			x.Application().Queue().Settings().PriorityPreemption == policies.PriorityPreemptionLeaf {
			assert.Check(t, leaf == x.Application().Queue())
		}
	}
}

func systemPriorityIsSpared(t *testing.T, p *objects.Partition, plan victim.Plan) {
	for _, y := range plan.Victims {
		assert.Check(t, groupPriority(p, y) < 2_000_000_000 || plan.Ask.Ask().Priority > groupPriority(p, y))
	}
}

func requiredNodeIsSpared(t *testing.T, p *objects.Partition, plan victim.Plan) {
	seen := map[*objects.Allocation]bool{}
	for _, y := range plan.Victims {
		assert.Check(t, !y.Pending() && !p.Preempting(y) && y.Ask().RequiredNode() == "" && !seen[y])
		seen[y] = true
	}
}

func youngIsSpared(t *testing.T, p *objects.Partition, plan victim.Plan) {
	for _, y := range plan.Victims {
		conf, young := y.Application().Queue().Settings(), true
		for _, z := range groupOf(p, y) {
			young = young && afterDelays.Before(z.BoundAt().Add(conf.MinRuntime))
		}
		assert.Check(t, !young || !conf.MinRuntimeStrict || plan.Reason == victim.ReasonRequiredNode)
	}
}

func groupsGoWhole(t *testing.T, p *objects.Partition, plan victim.Plan) {
	for _, y := range plan.Victims {
		for _, z := range groupOf(p, y) {
			assert.Check(t, slices.Contains(plan.Victims, z), "%s is no victim, but %s of its group is", z.Key(), y.Key())
		}
	}
}

// shortfall returns by how much the queues below q, and q, are below their guarantees. Queues with both the ask and a
// victim below them do not count: there only the difference of the sizes matters.
func shortfall(p *objects.Partition, q *objects.Queue, plan victim.Plan, after bool) (sum resources.Quantity) {
	var also []*objects.Allocation
	if after {
		also = plan.Victims
	}
	common := q.IsSelfOrAncestorOf(plan.Ask.Application().Queue()) &&
		slices.ContainsFunc(plan.Victims, func(y *objects.Allocation) bool {
			return q.IsSelfOrAncestorOf(y.Application().Queue())
		})
	used := held(p, q, also)
	if after && q.IsSelfOrAncestorOf(plan.Ask.Application().Queue()) {
		used = used.Add(plan.Ask.Ask().Amounts)
	}
	for name, g := range q.Guaranteed().All() {
		if !common {
			sum += max(0, g-used.Get(name))
		}
	}
	for _, child := range q.Children() {
		sum += shortfall(p, child, plan, after)
	}
	return sum
}

// makesProgress is why preemption cannot go back and forth (PRE-102): a victim in the leaf of the ask has lower
// priority than the ask, or the sum of the shortfalls below guarantees shrinks.
func makesProgress(t *testing.T, p *objects.Partition, plan victim.Plan) {
	switch {
	case len(plan.Victims) == 0:
	case plan.Reason == victim.ReasonGuarantee:
		before, after := shortfall(p, p.Root(), plan, false), shortfall(p, p.Root(), plan, true)
		assert.Check(t, after < before, "the sum of shortfalls is %d, and was %d before", after, before)
	case plan.Reason == victim.ReasonPriority:
		for _, y := range plan.Victims {
			if y.Application().Queue() == plan.Ask.Application().Queue() {
				assert.Check(t, groupPriority(p, y) < plan.Ask.Ask().Priority)
			}
		}
	}
}

func strictBudgetsHold(t *testing.T, p *objects.Partition, plan victim.Plan) {
	strict := map[*budgets.Tracked]int{}
	for _, y := range plan.Victims {
		if y.Application().Queue().Settings().BudgetPolicy == policies.BudgetsStrict {
			for _, b := range p.BudgetsOf(y) {
				strict[b]++
			}
		}
	}
	for b, n := range strict {
		assert.Check(t, n <= max(b.DisruptionsAllowed(), 0), "%d victims of budget %s, %d are allowed", n, b.Name(),
			b.DisruptionsAllowed())
	}
}
