package diff

import (
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// ObjectChange is the difference between two configurations of a priority class or a disruption budget. That of a
// class takes effect for new asks; existing asks keep their priority (PRI-34, S0-2). That of a budget takes effect
// for running allocations too.
type ObjectChange struct {
	Class  string        `json:"class,omitempty"`
	Budget string        `json:"budget,omitempty"` // namespace/name, if Class is empty
	Kind   Kind          `json:"kind"`
	Values []ValueChange `json:"values,omitempty"` // empty for a removed object
}

// compareNamed compares the named objects of a kind, in the order of the texts of their keys. name returns the field
// of a change that has the key.
func compareNamed[T any, P registry.Object[T]](was, is registry.Registry[T, P], valuesOf func(*T) values,
	name func(*ObjectChange) *string) (out []ObjectChange) {
	before, after := byKey(was), byKey(is)
	for _, key := range keysOfBoth(before, after) {
		change := ObjectChange{Kind: kindOf(before[key], after[key])}
		*name(&change) = key
		if change.Kind != Removed {
			var old values
			if change.Kind == Changed {
				old = valuesOf(before[key])
			}
			change.Values = spelling{}.diff(old, valuesOf(after[key]), nil, nil)
		}
		if change.Kind != Changed || len(change.Values) > 0 {
			out = append(out, change)
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

// compareObjects compares the priority classes and the disruption budgets. A nil document has the system objects only.
func compareObjects(old, new *configs.Config) (classes, budgets []ObjectChange) {
	if old == nil {
		old = &configs.Config{}
	}
	if new == nil {
		new = &configs.Config{}
	}
	return compareNamed(old.Classes, new.Classes, classValues, func(c *ObjectChange) *string { return &c.Class }),
		compareNamed(old.Budgets, new.Budgets, budgetValues, func(c *ObjectChange) *string { return &c.Budget })
}

// budgetValues returns the fields of a budget by name.
func budgetValues(b *budgets.Budget) values {
	v := values{}
	v.put("selector", b.Selector.String())
	v.put(string(b.Allowance.Kind.Field()), b.Allowance.Number())
	return v
}

// classValues returns the fields of a class by name.
func classValues(c *priorities.Class) values {
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
