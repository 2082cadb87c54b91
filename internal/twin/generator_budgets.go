package twin

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

// independentGenerator is a generator whose draws do not change the rest of the run.
func independentGenerator(what string) *generator {
	h := fnv.New64a()
	h.Write([]byte(what))
	return &generator{Rand: rand.New(rand.NewPCG(h.Sum64(), 0))}
}

// withBudgets is a configuration with budgets: sometimes its own.
func withBudgets(conf configs.Partition) configs.Partition {
	plain := conf
	plain.NominationTimeout, plain.Churn, plain.PriorityDisabled = 0, configs.Churn{}, false // these follow from the seed in another way
	a := independentGenerator(describePartition(plain))
	if a.oneIn(3) {
		return conf
	}
	var all []budgets.Budget
	for i := range a.IntN(5) {
		all = append(all, budgets.Budget{
			Namespace: pick(a, "default", "default", "x"), Name: fmt.Sprintf("b%d", i), Selector: a.budgetSelector(), Allowance: a.budgetAllowance(),
		})
	}
	r, err := budgets.New(all...)
	if err != nil {
		panic(err) // the texts are constants
	}
	conf.Budgets = r
	return conf
}

func (a *generator) budgetSelector() budgets.Selector {
	labels := map[string]string{}
	for range pick(a, 0, 1, 1, 1, 2) {
		labels[pick(a, "app", "app", "tier")] = pick(a, "a", "b", "")
	}
	var expressions []budgets.Expression
	for range pick(a, 0, 0, 0, 1, 2) {
		e := budgets.Expression{Key: pick(a, "app", "tier"), Operator: pick(a, budgets.Operators()...)}
		if e.Operator == budgets.In || e.Operator == budgets.NotIn {
			e.Values = []string{pick(a, "a", "b"), pick(a, "a", "c")}
		}
		expressions = append(expressions, e)
	}
	return budgets.NewSelector(labels, expressions)
}

func (a *generator) budgetAllowance() budgets.Allowance {
	k := pick(a, budgets.MinAvailable, budgets.MaxUnavailable, budgets.Allowed)
	if k != budgets.Allowed && a.oneIn(2) {
		return budgets.Allowance{Kind: k, N: pick[int32](a, 0, 1, 30, 50, 67, 100), Percent: true}
	}
	return budgets.Allowance{Kind: k, N: pick[int32](a, 0, 1, 2, 3)}
}

// askTags are the tags of the n-th ask.
func askTags(asks int) map[string]string {
	a := independentGenerator(fmt.Sprint("ask ", asks))
	if a.oneIn(5) {
		return nil
	}
	out := map[string]string{}
	if a.oneIn(2) {
		out[budgets.NamespaceTag] = pick(a, "default", "x", "x", "")
	}
	if a.oneIn(2) {
		out[priorities.QoSTag] = pick(a, "BestEffort", "Burstable", "Guaranteed", "Best")
	}
	if a.oneIn(3) {
		out[objects.UsageTag] = pick(a, `{"vcore":"1m","memory":"2"}`, `{"vcore":"5m","memory":"1"}`, `{"memory":"9"}`, "much")
	}
	for range a.IntN(3) {
		out[budgets.LabelTag+pick(a, "app", "app", "tier")] = pick(a, "a", "a", "b", "")
	}
	return out
}
