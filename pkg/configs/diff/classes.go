package diff

import (
	"maps"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// ClassChange is the difference between two configurations of a priority class. It takes effect
// for new asks; existing asks keep their priority (PRI-34, S0-2).
type ClassChange struct {
	Class  string        `json:"class"`
	Kind   Kind          `json:"kind"`
	Values []ValueChange `json:"values,omitempty"` // empty for a removed class
}

// BudgetChange is the difference between two configurations of a disruption budget. It takes
// effect for running allocations too.
type BudgetChange struct {
	Budget string        `json:"budget"` // namespace/name
	Kind   Kind          `json:"kind"`
	Values []ValueChange `json:"values,omitempty"` // empty for a removed budget
}

// diffNamed compares the named objects of a kind, in the order of the texts of their keys. change makes a change of an
// object that differs.
func diffNamed[T any, P registry.Object[T], C any](was, is registry.Registry[T, P], valuesOf func(*T) values,
	change func(key string, kind Kind, changes []ValueChange) C) (out []C) {
	before, after := byKey(was), byKey(is)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		old, new := before[key], after[key]
		kind := kindOf(old, new)
		var changes []ValueChange
		if kind != Removed {
			changes = spelling{}.diff(valuesOf(old), valuesOf(new), nil, nil)
		}
		if kind != Changed || len(changes) > 0 {
			out = append(out, change(key, kind, changes))
		}
	}
	return out
}

func byKey[T any, P registry.Object[T]](r registry.Registry[T, P]) map[string]*T {
	all := r.All()
	out := make(map[string]*T, len(all))
	for i := range all {
		out[P(&all[i]).Key().String()] = &all[i]
	}
	return out
}

// orEmpty is a document; an empty one, with the system objects only, instead of nil.
func orEmpty(c *configs.Config) *configs.Config {
	if c == nil {
		return &configs.Config{}
	}
	return c
}

// diffClasses compares the priority classes of documents.
func diffClasses(old, new *configs.Config) []ClassChange {
	return diffNamed(orEmpty(old).Classes, orEmpty(new).Classes, classValues,
		func(name string, kind Kind, changes []ValueChange) ClassChange {
			return ClassChange{name, kind, changes}
		})
}

// diffBudgets compares the disruption budgets of documents.
func diffBudgets(old, new *configs.Config) []BudgetChange {
	return diffNamed(orEmpty(old).Budgets, orEmpty(new).Budgets, budgetValues,
		func(name string, kind Kind, changes []ValueChange) BudgetChange {
			return BudgetChange{name, kind, changes}
		})
}

// budgetValues returns the fields of a budget by name; nil: the budget does not exist.
func budgetValues(b *budgets.Budget) values {
	if b == nil {
		return nil
	}
	v := values{}
	v.put("selector", b.Selector.String())
	v.put(string(b.Allowance.Kind.Field()), b.Allowance.Number())
	return v
}

// classValues returns the fields of a class by name; nil: the class does not exist.
func classValues(c *priorities.Class) values {
	if c == nil {
		return nil
	}
	v := values{}
	v.put("value", strconv.Itoa(int(c.Value)))
	v.put("globalDefault", strconv.FormatBool(c.GlobalDefault))
	v.put("preemptionPolicy", c.Policy.String())
	v.put("description", c.Description)
	if c.SubmitACL != nil {
		v.put("submitacl", strconv.Quote(c.SubmitACL.String())) // an empty access list differs from a missing one
	}
	return v
}
