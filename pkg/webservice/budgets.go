package webservice

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
)

func (s *service) routeBudgets(mux *router) {
	s.routeJSONOrYAML(mux, "/ws/v1/disruptionbudgets", s.budgets)
	s.routeJSONOrYAML(mux, "/ws/v1/disruptionbudget/{name}", s.budget)
}

// budgets lists the budgets in force, by namespace and then by name: all of them, or those of
// the namespace that the query names.
func (s *service) budgets(r *http.Request) (inJSON, inYAML any, err error) {
	counted, err := s.budgetCounts(r.Context())
	if err != nil {
		return nil, nil, err
	}
	bodies, list := []budgetBody{}, budgetList{budgetVersion, "PodDisruptionBudgetList", []budgetObject{}}
	all := s.currentConfig().Budgets.All()
	for i := range all {
		b := &all[i]
		if wanted := r.URL.Query().Get("namespace"); wanted != "" && wanted != b.Namespace {
			continue
		}
		bodies = append(bodies, viewBudget(b, counted[b.ID()]))
		list.Items = append(list.Items, budgetObjectOf(b, counted[b.ID()]))
	}
	return bodies, list, nil
}

func (s *service) budget(r *http.Request) (inJSON, inYAML any, err error) {
	namespace, name, err := budgetNames(r)
	if err != nil {
		return nil, nil, err
	}
	b, ok := s.currentConfig().Budgets.Get(namespace, name)
	if !ok {
		return nil, nil, budgetFailure(&budgets.Problem{
			Reason: budgets.UnknownBudget, Budget: namespace + "/" + name, Field: budgets.NameField, Text: "there is no such budget",
		})
	}
	counted, err := s.budgetCounts(r.Context())
	if err != nil {
		return nil, nil, err
	}
	return viewBudget(b, counted[b.ID()]), budgetObjectOf(b, counted[b.ID()]), nil
}

// budgetNames are the namespace in the query, by default the default namespace as in a document,
// and the name in the path.
func budgetNames(r *http.Request) (namespace, name string, err error) {
	name, err = parameter(r, "name")
	return cmp.Or(r.URL.Query().Get("namespace"), budgets.DefaultNamespace), name, err
}

// budgetCounts are the counts of each budget, by its ID and then in the order of partitions. A
// budget without counts was created after them.
func (s *service) budgetCounts(ctx context.Context) (map[string][]budgetCounts, error) {
	out := map[string][]budgetCounts{}
	for _, name := range s.cluster.Partitions() {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		views, err := l.Budgets(ctx)
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", name, err)
		}
		for _, v := range views {
			id := v.Budget.ID()
			out[id] = append(out[id], budgetCounts{name, v.Selected, v.Preempting, v.Allowed})
		}
	}
	return out, nil
}
