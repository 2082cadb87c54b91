package diff

import (
	"maps"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
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

func countKind[T any](all []T, of func(T) Kind, kind Kind) (n int) {
	for _, x := range all {
		if of(x) == kind {
			n++
		}
	}
	return n
}

// diffNamed compares two lists of objects by name and calls report for each object that differs,
// in name order.
func diffNamed[T any](
	was, is []T, name func(*T) string, values func(*T) map[string]string, report func(string, Kind, []ValueChange),
) {
	before, after := byName(was, name), byName(is, name)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		old, new := before[n], after[n]
		kind := kindOf(old, new)
		var changes []ValueChange
		if kind != Removed {
			changes = diffValues(values(old), values(new), nil, nil)
		}
		if kind != Changed || len(changes) > 0 {
			report(n, kind, changes)
		}
	}
}

func byName[T any](list []T, name func(*T) string) map[string]*T {
	out := make(map[string]*T, len(list))
	for i := range list {
		out[name(&list[i])] = &list[i]
	}
	return out
}

// diffClasses compares the priority classes of documents. A nil document has the system classes only.
func diffClasses(old, new *configs.Config) (out []ClassChange) {
	diffNamed(classesOf(old).All(), classesOf(new).All(), func(c *priorities.Class) string { return c.Name }, classValues,
		func(name string, kind Kind, values []ValueChange) {
			out = append(out, ClassChange{name, kind, values})
		})
	return out
}

func classesOf(c *configs.Config) priorities.Registry {
	if c == nil {
		return priorities.Registry{}
	}
	return c.Classes
}

// diffBudgets compares the disruption budgets of documents.
func diffBudgets(old, new *configs.Config) (out []BudgetChange) {
	diffNamed(budgetsOf(old), budgetsOf(new), (*budgets.Budget).ID, budgetValues,
		func(name string, kind Kind, values []ValueChange) {
			out = append(out, BudgetChange{name, kind, values})
		})
	return out
}

func budgetsOf(c *configs.Config) []budgets.Budget {
	if c == nil {
		return nil
	}
	return c.Budgets.All()
}

// budgetValues are the fields of a budget by name; nil: the budget does not exist.
func budgetValues(b *budgets.Budget) map[string]string {
	if b == nil {
		return nil
	}
	return map[string]string{"selector": b.Selector.String(), string(b.Allowance.Kind.Field()): b.Allowance.Number()}
}

// classValues are the fields of a class by name; nil: the class does not exist.
func classValues(c *priorities.Class) map[string]string {
	if c == nil {
		return nil
	}
	v := map[string]string{
		"value": strconv.Itoa(int(c.Value)), "globalDefault": strconv.FormatBool(c.GlobalDefault),
		"preemptionPolicy": c.Policy.String(), "description": c.Description,
	}
	if c.SubmitACL != nil {
		v["submitacl"] = strconv.Quote(c.SubmitACL.String()) // an empty access list differs from a missing one
	}
	return v
}
