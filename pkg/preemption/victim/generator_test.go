package victim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var epoch = time.Unix(1_000_000_000, 0).UTC()

// afterDelays is when every delay of a random cluster has passed.
var afterDelays = epoch.Add(time.Hour)

// generator generates random clusters.
type generator struct {
	*rand.Rand
	noGroups     bool // no victim groups and no budgets
	noGuarantees bool // no guarantees
	limits       bool // of users
	dense        bool // many allocations of few sizes on each node
}

func newGenerator(seed uint64) generator { return generator{Rand: rand.New(rand.NewPCG(seed, 0))} }

func (d generator) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d generator, from ...T) T { return from[d.IntN(len(from))] }

func (d generator) amounts(limit int) resources.Amounts {
	m := map[string]resources.Quantity{"vcore": resources.Quantity(1 + d.IntN(limit))}
	if d.oneIn(2) {
		m["memory"] = resources.Quantity(d.IntN(limit + 1))
	}
	return resources.FromMap(m)
}

// queue returns a queue with a random guarantee, max and settings; root has none.
func (d generator) queue(name string, children ...configs.Queue) configs.Queue {
	q := configs.Queue{Name: name, Parent: len(children) > 0, Children: children, SubmitACL: security.Everyone(),
		Settings: configs.DefaultSettings()}
	if name == "root" {
		return q
	}
	if d.oneIn(2) && !d.noGuarantees {
		q.Guaranteed = resources.GuaranteeFromMap(d.amounts(12).Map())
	}
	if d.oneIn(4) {
		q.Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(8 + d.IntN(20))})
	}
	if d.limits && d.oneIn(2) {
		q.Limits = []limits.Limit{{Users: []string{limits.Wildcard},
			MaxResources: resources.LimitFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(4 + d.IntN(12))})}}
	}
	q.PreemptionPolicy = pick(d, policies.PreemptDefault, policies.PreemptDefault, policies.PreemptDefault,
		policies.PreemptFence, policies.PreemptDisabled)
	q.PriorityPolicy = pick(d, policies.PriorityDefault, policies.PriorityDefault, policies.PriorityFence)
	q.PriorityOffset = pick[int32](d, 0, 0, 0, 2, -2)
	q.PriorityPreemption = pick(d, policies.PriorityPreemptionLeaf, policies.PriorityPreemptionFence,
		policies.PriorityPreemptionFence)
	q.VictimUnit = pick(d, policies.VictimUnitAllocation, policies.VictimUnitAllocation, policies.VictimUnitTaskGroup,
		policies.VictimUnitApplication)
	if d.noGroups {
		q.VictimUnit = policies.VictimUnitAllocation
	}
	q.BudgetPolicy = pick(d, policies.BudgetsBestEffort, policies.BudgetsStrict, policies.BudgetsIgnored)
	q.VictimOrder = pick(d, policies.VictimOrderCompatible, policies.VictimOrderPriority)
	q.PreemptionDelay = time.Minute
	if q.VictimOrder == policies.VictimOrderPriority { // another draw would change the clusters of all seeds
		q.PreemptionGuarantee = policies.PreemptionGuaranteeLacking
	}
	if q.PriorityOffset != 0 { // what was bound from the second second on is young at afterDelays
		q.MinRuntime, q.MinRuntimeStrict = time.Hour-2*time.Second, q.PriorityOffset > 0
	}
	return q
}

func (d generator) budgets(t *testing.T) budgets.Registry {
	var all []budgets.Budget
	for _, app := range []string{"x", "y"} {
		if d.oneIn(2) && !d.noGroups {
			all = append(all, budgets.Budget{
				Name: app, Namespace: "default", Selector: budgets.NewSelector(map[string]string{"app": app}, nil),
				Allowance: budgets.Allowance{Kind: budgets.Allowed, N: int32(d.IntN(3))},
			})
		}
	}
	r, err := budgets.New(all...)
	assert.NilError(t, err)
	return r
}

var leaves = []objects.QueuePath{"root.p.a", "root.p.b", "root.c", "root.d"}

// cycles returns a detector in which the leaf of x is in a cool-down with random leaves, or with itself.
func (d generator) cycles(x *objects.Allocation) *preemption.CycleDetector {
	c := &preemption.CycleDetector{}
	c.SetConfig(configs.Churn{CircuitBreaker: true, Cycles: 1, Window: time.Hour, CoolDown: time.Hour}, afterDelays)
	leaf := x.Application().Queue().Path()
	for d.oneIn(4) {
		from := []objects.QueuePath{pick(d, leaves...)}
		c.RecordPreemption(leaf, from, afterDelays)
		c.RecordGiveUp(leaf, from, afterDelays)
	}
	return c
}

func (d generator) tree() configs.Queue {
	return d.queue("root", d.queue("p", d.queue("a"), d.queue("b")), d.queue("c"), d.queue("d"))
}

// cluster returns a partition that is nearly full and has some preempting allocations and nominated asks.
func (d generator) cluster(t *testing.T) *objects.Partition {
	p := objects.NewPartition(configs.Partition{
		Name: "default", Root: d.tree(), PreemptionEnabled: true, NodeSortPolicy: policies.DefaultNodeSortPolicy(),
		Budgets: d.budgets(t),
	})
	for i, leaf := range leaves {
		for j := range 2 {
			id := objects.AppID(fmt.Sprint("app", i, j))
			tags := map[string]string{}
			if d.oneIn(3) {
				tags[objects.TagGroupPriority] = fmt.Sprint(d.IntN(6))
			}
			user := "ann"
			if d.limits && d.oneIn(2) {
				user = "bob"
			}
			assert.NilError(t, p.AddApplication(id, security.User{Name: user}, leaf, tags, epoch))
			assert.NilError(t, p.ReadGroupPriorityTag(id))
		}
	}
	nodes := 1 + d.IntN(4)
	for i := range nodes {
		n := resources.Quantity(6 + d.IntN(10))
		if d.dense {
			n *= 3
		}
		total := resources.FromMap(map[string]resources.Quantity{"vcore": n, "memory": n})
		assert.NilError(t, p.AddNode(objects.NodeID(fmt.Sprint("n", i)), total, nil, !d.oneIn(8)))
	}
	perNode := 6
	if d.dense {
		perNode = 24
	}
	for i := range perNode * nodes {
		ask := d.ask(fmt.Sprint("run", i))
		if d.dense {
			ask.Amounts = resources.FromMap(map[string]resources.Quantity{"vcore": 1, "memory": resources.Quantity(d.IntN(3))})
		}
		if d.oneIn(10) {
			ask.Details.RequiredNode = "n0"
		}
		ask.Policy = ask.Policy.With(objects.PolicyAllowPreemptSelf, !d.oneIn(4))
		x, err := p.AddAsk(ask, epoch)
		assert.NilError(t, err)
		p.RefreshShares()
		n := p.FirstFittingNode(x.Shape())
		switch {
		case n == nil || isBlocked(p, x):
			p.Cancel(ask.Key, epoch)
		default:
			assert.NilError(t, p.Place(x, n, epoch.Add(time.Duration(d.IntN(5))*time.Second)))
		}
	}
	p.RefreshShares()
	for range d.IntN(3) { // preempting allocations
		d.preemptOnce(t, p)
	}
	assert.NilError(t, p.Check())
	return p
}

func (d generator) ask(key string) *objects.Ask {
	return &objects.Ask{
		Key: objects.AllocationKey(key), App: objects.AppID(fmt.Sprint("app", d.IntN(len(leaves)), d.IntN(2))),
		Amounts:  d.amounts(4),
		Priority: pick[int32](d, 0, 1, 2, 3, 4, 5, 2_000_000_000), Created: objects.TimestampOf(epoch),
		Originator: d.oneIn(6),
		Policy:     objects.PolicySent | objects.PolicyAllowPreemptOther,
		Details: &objects.AskDetails{
			TaskGroup: pick(d, "", "", "g", "h"), Tags: map[string]string{budgets.LabelTag + "app": pick(d, "x", "y", "z")},
		},
	}
}

// preemptOnce adds an ask and carries out the first plan that it finds.
func (d generator) preemptOnce(t *testing.T, p *objects.Partition) {
	ask := d.ask(fmt.Sprint("preemptor", d.Uint32()))
	x, err := p.AddAsk(ask, epoch)
	assert.NilError(t, err)
	reasons, _ := preemption.EntitledReasons(fairshare.Of(p), x, afterDelays)
	for _, reason := range reasons {
		if plan, ok := victim.NewSearch(fairshare.New(p), 0, nil).At(afterDelays).Find(x, reason, nil); ok {
			p.Preempt(x, plan.Node, plan.Victims, afterDelays)
			return
		}
	}
}

// isBlocked reports whether a constraint blocks x.
func isBlocked(p *objects.Partition, x *objects.Allocation) bool {
	_, blocked := x.Application().Constraints().FirstBlocking(x.Shape())
	return blocked
}

// quotaVictims returns the victims of a queue above its max.
func quotaVictims(p *objects.Partition, q *objects.Queue) []*objects.Allocation {
	victims, _ := victim.ForQuota(p, q, afterDelays)
	return victims
}
