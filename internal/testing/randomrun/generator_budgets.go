package randomrun

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// Budgets and the labels of asks follow from the counts so far and from a separate source: another draw
// would change the runs of all seeds.

// independentGenerator returns a generator whose draws do not change the rest of the run.
func independentGenerator(what string) *Generator {
	h := fnv.New64a()
	h.Write([]byte(what))
	return &Generator{Rand: rand.New(rand.NewPCG(h.Sum64(), 0))}
}

// withBudgets returns a configuration with budgets: sometimes its own.
func withBudgets(conf configs.Partition) configs.Partition {
	plain := conf
	// these follow from the seed in another way
	plain.NominationTimeout, plain.Churn, plain.PriorityDisabled = 0, configs.Churn{}, false
	a := independentGenerator(describePartition(plain))
	if a.OneIn(3) {
		return conf
	}
	var all []budgets.Budget
	for i := range a.IntN(5) {
		all = append(all, budgets.Budget{
			Namespace: Pick(a, "default", "default", "x"), Name: fmt.Sprintf("b%d", i), Selector: a.budgetSelector(),
			Allowance: a.budgetAllowance(),
		})
	}
	r, err := budgets.New(all...)
	if err != nil {
		panic(err) // the texts are constants
	}
	conf.Budgets = r
	return conf
}

func (a *Generator) budgetSelector() budgets.Selector {
	labels := map[string]string{}
	for range Pick(a, 0, 1, 1, 1, 2) {
		labels[Pick(a, "app", "app", "tier")] = Pick(a, "a", "b", "")
	}
	var expressions []budgets.Expression
	for range Pick(a, 0, 0, 0, 1, 2) {
		e := budgets.Expression{Key: Pick(a, "app", "tier"), Operator: Pick(a, budgets.Operators()...)}
		if e.Operator == budgets.In || e.Operator == budgets.NotIn {
			e.Values = []string{Pick(a, "a", "b"), Pick(a, "a", "c")}
		}
		expressions = append(expressions, e)
	}
	return budgets.NewSelector(labels, expressions)
}

func (a *Generator) budgetAllowance() budgets.Allowance {
	k := Pick(a, budgets.MinAvailable, budgets.MaxUnavailable, budgets.Allowed)
	if k != budgets.Allowed && a.OneIn(2) {
		return budgets.Allowance{Kind: k, N: Pick[int32](a, 0, 1, 30, 50, 67, 100), Percent: true}
	}
	return budgets.Allowance{Kind: k, N: Pick[int32](a, 0, 1, 2, 3)}
}

// askTags returns the tags of the n-th ask.
func askTags(asks int) map[string]string {
	a := independentGenerator(fmt.Sprint("ask ", asks))
	if a.OneIn(5) {
		return nil
	}
	out := map[string]string{}
	if a.OneIn(2) {
		out[budgets.NamespaceTag] = Pick(a, "default", "x", "x", "")
	}
	if a.OneIn(2) {
		out[priorities.QoSTag] = Pick(a, "BestEffort", "Burstable", "Guaranteed", "Best")
	}
	if a.OneIn(3) {
		out[objects.UsageTag] = Pick(a, `{"vcore":"1m","memory":"2"}`, `{"vcore":"5m","memory":"1"}`, `{"memory":"9"}`,
			"much")
	}
	for range a.IntN(3) {
		out[budgets.LabelTag+Pick(a, "app", "app", "tier")] = Pick(a, "a", "a", "b", "")
	}
	return out
}
