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
func TestPlansObeyTheLaws(t *testing.T) {
	laws := []struct {
		name string
		law  func(*testing.T, *objects.Partition, preemption.Plan)
	}{
		{"P1 a plan has one right, that its ask has", hasTheRight},
		{"P3 victims are less important", areLessImportant},
		{"P4 no queue falls below its guarantee for another one", keepGuarantees},
		{"P5 the ask fits every quota when they have gone", fitsEverything},
		{"P6 fences and disabled queues hold", stayInReach},
		{"P7 system work is out of reach of user work", spareTheSystem},
		{"P8 who needs its node, or leaves already, is no victim", spareTheBound},
		{"P9 every one of them is needed", areNeeded},
		{"P10 what runs on the node becomes more important, or shortfalls smaller", leadSomewhere},
		{"2.8 groups go whole", goWhole},
		{"a strict queue gives up nobody beyond a budget", keepBudgets},
	}
	found := map[preemption.Right]int{}
	victims, kept := 0, 0
	clusters := testscale.Runs(3000)
	for seed := range uint64(clusters) {
		d := roll(seed)
		p := d.cluster(t)
		ask := d.ask("ask")
		if d.oneIn(5) {
			ask.RequiredNode = "n0"
		}
		ask.Policy = ask.Policy.With(objects.PolicyOther, !d.oneIn(6))
		x, err := p.AddAsk(ask, epoch)
		assert.NilError(t, err)
		rights, _ := preemption.Rights(p, x, late)
		churn := d.churn(x)
		search := preemption.NewSearch(p, pick(d, 0, 1, 2), churn)
		for _, r := range rights {
			plan, ok := search.Find(x, r, nil)
			if !ok {
				continue
			}
			found[r]++
			victims += len(plan.Victims)
			for _, l := range laws {
				l.law(t, p, plan)
				assert.Assert(t, !t.Failed(), "seed %d, %s, by %s: %v on %s for %v", seed, l.name, r, describe(plan.Victims), plan.Node.ID(), describe([]*objects.Allocation{x}))
			}
			kept += heedPauses(t, churn, x, search.Candidates(plan))
			assert.NilError(t, p.Check())
		}
	}
	assert.Assert(t, kept > clusters/60, "pauses kept only %d", kept)
	t.Log(found, victims, kept)
	for _, r := range []preemption.Right{preemption.OfNode, preemption.OfGuarantee, preemption.OfPriority} {
		assert.Assert(t, found[r] >= clusters/20, "only %d plans by right of %s", found[r], r)
	}
	assert.Assert(t, victims > clusters/4, "only %d victims", victims)
}

func describe(list []*objects.Allocation) (text []string) {
	for _, y := range list {
		text = append(text, fmt.Sprintf("%s of %s, %d, %s", y.Key(), y.Application().Queue().Path(), y.Ask().Priority, y.Ask().TaskGroup))
	}
	return text
}

// heedPauses holds candidates against the pauses of their leaves with that of the ask, and
// counts whom they keep.
func heedPauses(t *testing.T, churn *preemption.Churn, x *objects.Allocation, candidates []preemption.Candidate) (kept int) {
	home := x.Application().Queue().Path()
	for _, y := range candidates {
		paused := false
		for _, p := range churn.Pauses() {
			leaf := y.Application().Queue().Path()
			paused = paused || p.A == home && p.B == leaf || p.A == leaf && p.B == home
		}
		assert.Check(t, !paused || !y.Victim)
		if y.Law == preemption.IsPaused {
			assert.Check(t, paused)
			kept++
		}
	}
	return kept
}

func hasTheRight(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	rights, _ := preemption.Rights(p, plan.Ask, late)
	assert.Check(t, slices.Contains(rights, plan.Right) && plan.Ask.Ask().Policy.Other())
	assert.Check(t, plan.Right != preemption.OfNode || plan.Node.ID() == plan.Ask.Ask().RequiredNode)
	assert.Check(t, plan.Node.Schedulable())
}

// groupOf are those that fall with y.
func groupOf(p *objects.Partition, y *objects.Allocation) (all []*objects.Allocation) {
	unit := y.Application().Queue().Settings().VictimUnit
	for _, z := range y.Application().Work() {
		if z == y || !z.Pending() && !p.Leaving(z) && (unit == policies.UnitApplication ||
			unit == policies.UnitTaskGroup && y.Ask().TaskGroup != "" && z.Ask().TaskGroup == y.Ask().TaskGroup) {
			all = append(all, z)
		}
	}
	return all
}

// number is the priority of the group of y.
func number(p *objects.Partition, y *objects.Allocation) (n int32) {
	n = y.Number()
	for _, z := range groupOf(p, y) {
		n = max(n, z.Number())
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

// below are the queues that y is in and x is not.
func below(x, y *objects.Allocation) (all []*objects.Queue) {
	for _, q := range path(y.Application().Queue()) {
		if !slices.Contains(path(x.Application().Queue()), q) {
			all = append(all, q)
		}
	}
	return all
}

func seen(n int32, through []*objects.Queue) int64 {
	v := int64(n)
	for _, q := range through {
		if q.Settings().Priority == policies.PriorityFence {
			v = 0
		}
		v = min(max(v+int64(q.Settings().Offset), -1<<31), 1<<31-1)
	}
	return v
}

func areLessImportant(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	x := plan.Ask
	for _, y := range plan.Victims {
		own, other := seen(x.Ask().Priority, below(y, x)), seen(number(p, y), below(x, y))
		switch plan.Right {
		case preemption.OfNode:
			assert.Check(t, number(p, y) <= x.Ask().Priority)
		case preemption.OfGuarantee:
			assert.Check(t, other <= own)
		case preemption.OfPriority:
			assert.Check(t, other < own)
		}
	}
}

// held is what a queue will hold when those have gone who were told to, and also are not there.
func held(p *objects.Partition, q *objects.Queue, also []*objects.Allocation) resources.Amounts {
	sum := p.Amounts(q.Allocated())
	for _, n := range p.Nodes() {
		for _, y := range n.Work() {
			if q.Above(y.Application().Queue()) && (p.Leaving(y) || slices.Contains(also, y)) {
				sum = sum.Sub(y.Ask().Amounts)
			}
		}
	}
	return sum
}

func keepGuarantees(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	if plan.Right == preemption.OfNode {
		return
	}
	for _, y := range plan.Victims {
		for _, q := range below(plan.Ask, y) {
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
		for _, y := range n.Work() {
			if p.Leaving(y) || slices.Contains(victims, y) {
				try.Without(y.Key())
			}
		}
	}
	return plan.Node.RoomFor(plan.Ask).Covers(plan.Ask.Shape().Vector()) && len(p.Walls(plan.Ask)) == 0
}

func fitsEverything(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	assert.Check(t, fits(p, plan, plan.Victims))
}

func areNeeded(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	for _, y := range plan.Victims {
		without := slices.DeleteFunc(slices.Clone(plan.Victims), func(z *objects.Allocation) bool {
			return slices.Contains(groupOf(p, y), z)
		})
		assert.Check(t, !fits(p, plan, without), "%s need not go", y.Key())
	}
}

func stayInReach(t *testing.T, _ *objects.Partition, plan preemption.Plan) {
	if plan.Right == preemption.OfNode {
		return
	}
	x := plan.Ask
	for _, y := range plan.Victims {
		home := y.Application().Queue()
		assert.Check(t, home.Settings().Preemption != policies.PreemptDisabled)
		for _, q := range below(y, x) {
			assert.Check(t, q.Settings().Preemption != policies.PreemptFence, "%s is beyond the fence %s", y.Key(), q.Path())
		}
		if plan.Right == preemption.OfPriority && x.Application().Queue().Settings().PrioritySwap == policies.PrioritySwapLeaf {
			assert.Check(t, home == x.Application().Queue())
		}
	}
}

func spareTheSystem(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	for _, y := range plan.Victims {
		assert.Check(t, number(p, y) < 2_000_000_000 || plan.Ask.Ask().Priority > number(p, y))
	}
}

func spareTheBound(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	seen := map[*objects.Allocation]bool{}
	for _, y := range plan.Victims {
		assert.Check(t, !y.Pending() && !p.Leaving(y) && y.Ask().RequiredNode == "" && !seen[y])
		seen[y] = true
	}
}

func goWhole(t *testing.T, p *objects.Partition, plan preemption.Plan) {
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
	common := q.Above(plan.Ask.Application().Queue()) && slices.ContainsFunc(plan.Victims, func(y *objects.Allocation) bool {
		return q.Above(y.Application().Queue())
	})
	has := held(p, q, also)
	if after && q.Above(plan.Ask.Application().Queue()) {
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

// leadSomewhere is why nobody is preempted to and fro (P10): the best that runs on the node
// becomes better, or the queues together come closer to what they are guaranteed.
func leadSomewhere(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	switch {
	case len(plan.Victims) == 0:
	case plan.Right == preemption.OfGuarantee:
		before, after := shortfall(p, p.Root(), plan, false), shortfall(p, p.Root(), plan, true)
		assert.Check(t, after < before, "shortfalls add up to %d, and to %d before", after, before)
	case plan.Right == preemption.OfPriority:
		for _, y := range plan.Victims {
			if y.Application().Queue() == plan.Ask.Application().Queue() {
				assert.Check(t, number(p, y) < plan.Ask.Ask().Priority)
			}
		}
	}
}

func keepBudgets(t *testing.T, p *objects.Partition, plan preemption.Plan) {
	strict := map[*objects.Budget]int{}
	for _, y := range plan.Victims {
		if y.Application().Queue().Settings().Budgets == policies.BudgetsStrict {
			for _, b := range p.BudgetsOf(y) {
				strict[b]++
			}
		}
	}
	for b, n := range strict {
		assert.Check(t, n <= max(b.Allowed(), 0), "%d of budget %s leave, %d may", n, b.Name(), b.Allowed())
	}
}
