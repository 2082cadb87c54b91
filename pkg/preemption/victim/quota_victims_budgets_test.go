package victim_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A lowered max takes no victim beyond a budget from a strict queue; a later call returns the others (QUO-57).
func TestQuotaVictims_StrictBudgetsAreKept(t *testing.T) {
	for _, x := range []struct {
		policy  policies.BudgetPolicy
		victims int
	}{{policies.BudgetsStrict, 1}, {policies.BudgetsBestEffort, 3}, {policies.BudgetsIgnored, 3}} {
		t.Run(x.policy.String(), func(t *testing.T) {
			leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
			leaf.Max, leaf.BudgetPolicy = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 1}), x.policy
			leaf.QuotaPreemptionDelay = 1
			all, err := budgets.New(budgets.Budget{
				Name: "db", Namespace: "default", Selector: budgets.NewSelector(map[string]string{"app": "db"}, nil),
				Allowance: budgets.Allowance{Kind: budgets.MaxUnavailable, N: 1},
			})
			assert.NilError(t, err)
			p := objects.NewPartition(configs.Partition{
				Name: "default", Root: configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{leaf}}, Budgets: all,
				QuotaPreemptionEnabled: true,
			})
			four := resources.FromMap(map[string]resources.Quantity{"vcore": 4})
			assert.NilError(t, p.AddNode("n", four, nil, true))
			assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, "root.a", nil, epoch))
			for _, key := range []objects.AllocationKey{"1", "2", "3", "4"} {
				_, err := p.AddReported(&objects.Ask{
					Key: key, App: "app", Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1}),
					Details: &objects.AskDetails{Tags: map[string]string{budgets.LabelTag + "app": "db"}},
				}, "n", epoch)
				assert.NilError(t, err)
			}
			q, _ := p.Queue("root.a")
			victims := quotaVictims(p, q)
			assert.Equal(t, len(victims), x.victims)
			p.MarkPreempting(victims, epoch)
			assert.Equal(t, len(quotaVictims(p, q)), 0,
				"there are more victims although the budget is used up, or enough are preempting")
			for _, y := range victims {
				p.Release(y.Key(), epoch)
			}
			assert.Equal(t, len(quotaVictims(p, q)) > 0, x.policy == policies.BudgetsStrict,
				"the next victim after the first has ended")
		})
	}
}
