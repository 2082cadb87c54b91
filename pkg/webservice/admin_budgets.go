package webservice

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// routeBudgetChanges serves the requests that change disruption budgets.
func (s *service) routeBudgetChanges(mux *router) {
	s.routeChange(mux, http.MethodPost, "/ws/v1/disruptionbudgets", http.StatusCreated, objectContentTypes, s.createBudget)
	s.routeChange(mux, http.MethodPut, "/ws/v1/disruptionbudget/{name}", http.StatusOK, objectContentTypes, s.updateBudget)
	s.routeChange(mux, http.MethodDelete, "/ws/v1/disruptionbudget/{name}", http.StatusOK, nil, s.deleteBudget)
}

// budgetChangeBody answers a change of a budget. It has no counts; GET of the budget has them.
type budgetChangeBody struct {
	budgetBody
	Generation uint64              `json:"generation"`         // in force now
	Changed    bool                `json:"changed"`            // false: the budget was like this before
	Warnings   queuesyaml.Problems `json:"warnings,omitempty"` // about the budget in the request
	NotStored  string              `json:"notStored,omitempty"`
}

// createBudget creates a budget in the namespace that the body names, or else the query.
func (s *service) createBudget(r *http.Request) (any, error) {
	b, warnings, err := readBudget(r, "")
	if err != nil {
		return nil, err
	}
	return s.editBudgets(r, &b, warnings, func(now budgets.Registry) (budgets.Registry, error) { return now.With(b) })
}

// updateBudget replaces the whole budget: a field that is not sent has its default.
func (s *service) updateBudget(r *http.Request) (any, error) {
	namespace, name, err := budgetNames(r)
	if err != nil {
		return nil, err
	}
	b, warnings, err := readBudget(r, name)
	if err != nil {
		return nil, err
	}
	if b.Name != name || b.Namespace != namespace {
		return nil, badRequest(fmt.Sprintf("the budget in the body is %q, but the request is about %q", b.ID(), namespace+"/"+name))
	}
	return s.editBudgets(r, &b, warnings, func(now budgets.Registry) (budgets.Registry, error) { return now.Update(b) })
}

func (s *service) deleteBudget(r *http.Request) (any, error) {
	namespace, name, err := budgetNames(r)
	if err != nil {
		return nil, err
	}
	deleted := budgets.Budget{Namespace: namespace, Name: name}
	return s.editBudgets(r, &deleted, nil, func(now budgets.Registry) (budgets.Registry, error) {
		if b, ok := now.Get(namespace, name); ok {
			deleted = *b
		}
		return now.Without(namespace, name)
	})
}

// readBudget reads the budget in the body of a request.
func readBudget(r *http.Request, name string) (budgets.Budget, queuesyaml.Problems, error) {
	text, err := objectText(r)
	if err != nil {
		return budgets.Budget{}, nil, err
	}
	b, problems := queuesyaml.ReadBudget(text, r.URL.Query().Get("namespace"), name, queuesyaml.Options{})
	if problems.HasErrors() {
		return budgets.Budget{}, nil, invalidObject(problems.Errors(), "budget-", "disruption budget")
	}
	return b, problems.Warnings(), nil
}

// editBudgets applies a change of the budgets in force.
func (s *service) editBudgets(
	r *http.Request, b *budgets.Budget, warnings queuesyaml.Problems, edit func(budgets.Registry) (budgets.Registry, error),
) (any, error) {
	res, err := s.editConfig(r, func(now *configs.Config, g *reload.Generation) ([]byte, error) {
		next, err := edit(now.Budgets)
		if err != nil {
			return nil, budgetFailure(err)
		}
		return notEditable(s.opt.Reloads.EditBudgets(g, next))
	})
	if err != nil {
		return nil, err
	}
	return budgetChangeBody{viewBudget(b, nil), res.Generation.Number, res.Changed, warnings, errorText(res.StoreError)}, nil
}

// budgetFailure maps a refusal of package budgets to a status.
func budgetFailure(err error) error {
	p := new(budgets.Problem)
	if !errors.As(err, &p) {
		return err
	}
	status := map[budgets.Reason]int{
		budgets.UnknownBudget: http.StatusNotFound, budgets.AlreadyExists: http.StatusConflict,
	}[p.Reason]
	if status == 0 {
		status = http.StatusUnprocessableEntity
	}
	return newObjectFailure(status, string(p.Reason), err.Error(), nil)
}
