package webservice

import (
	"context"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// budgetKind are the disruption budgets.
var budgetKind = objectKind[budgets.Budget, *budgets.Budget]{
	plural: "/ws/v1/disruptionbudgets", single: "/ws/v1/disruptionbudget/{name}",
	apiVersion: dao.BudgetVersion, kind: dao.BudgetObjectKind, namespace: budgets.DefaultNamespace,
	inForce: func(c *configs.Config) budgets.Registry { return c.Budgets },
	list:    queuesyaml.DisruptionBudgets, warns: true, forms: budgetForms,
	changed: func(b *budgets.Budget, c changeBody) any { return changedBudgetBody{dao.NewBudget(b, nil), c} },
}

// changedBudgetBody answers a change of a budget. It has no counts; GET of the budget has them.
type changedBudgetBody struct {
	dao.Budget
	changeBody
}

// budgetForms shows budgets with their counts in each partition.
func budgetForms(s *service, ctx context.Context) (func(*budgets.Budget) (inJSON, inYAML any), error) {
	counted, err := s.budgetCounts(ctx)
	return func(b *budgets.Budget) (inJSON, inYAML any) {
		return dao.NewBudget(b, counted[b.ID()]), dao.NewBudgetObject(b, counted[b.ID()])
	}, err
}

// budgetCounts are the counts of each budget, by its ID and then in the order of partitions. A
// budget without counts was created after them.
func (s *service) budgetCounts(ctx context.Context) (map[string][]dao.BudgetCounts, error) {
	out := map[string][]dao.BudgetCounts{}
	for name, l := range partitionsOf(s.cluster) {
		views, err := l.Budgets(ctx)
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", name, err)
		}
		for _, v := range views {
			id := v.Budget.ID()
			out[id] = append(out[id],
				dao.BudgetCounts{Partition: name, Matching: v.Selected, Preempting: v.Preempting, DisruptionsAllowed: v.Allowed})
		}
	}
	return out, nil
}
