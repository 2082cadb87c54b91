package budgets

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// DefaultNamespace is the namespace of budgets and asks that name none, as in Kubernetes.
const DefaultNamespace = "default"

// Budget is a disruption budget: it bounds how many of the allocations that it selects may be preempted at a time.
type Budget struct {
	Namespace string // it selects allocations of this namespace only (PRE-65)
	Name      string
	Selector  Selector
	Allowance Allowance
}

// ID returns namespace/name, unique in a Registry.
func (b *Budget) ID() string { return b.Namespace + "/" + b.Name }

// Selects reports whether the budget selects an allocation with these tags (PRE-65).
func (b *Budget) Selects(tags map[string]string) bool {
	return NamespaceOf(tags) == b.Namespace && b.Selector.Matches(tags)
}

// Equal reports whether all fields of two budgets are equal.
func (b *Budget) Equal(c *Budget) bool {
	return b.ID() == c.ID() && b.Allowance == c.Allowance && b.Selector.Equal(c.Selector)
}

// Check returns every violation of the budget by itself.
func (b *Budget) Check() []*registry.Problem {
	var out []*registry.Problem
	add := func(reason Reason, f Field, text string) {
		if text != "" {
			out = append(out, problem(b, reason, f, text))
		}
	}
	if b.Name == "" {
		add(InvalidName, NameField, "it has no name")
	} else {
		add(InvalidName, NameField, prefixed("the name", names.SubdomainProblem(b.Name)))
	}
	add(InvalidNamespace, NamespaceField, prefixed("the namespace", names.NamespaceProblem(b.Namespace)))
	add(InvalidSelector, SelectorField, b.Selector.firstProblem())
	if b.Allowance.Kind.Field() == "" {
		add(OneAllowance, "", noAllowanceText)
	} else {
		add(InvalidAllowance, b.Allowance.Kind.Field(), b.Allowance.numberProblem())
	}
	return out
}

// prefixed returns "what problem"; empty without a problem.
func prefixed(what, problem string) string {
	if problem == "" {
		return ""
	}
	return what + " " + problem
}

// AllowanceKind names the field that gives an Allowance.
type AllowanceKind uint8

// The kinds of allowances; a budget has exactly one.
const (
	MinAvailable   AllowanceKind = iota + 1 // how many must stay
	MaxUnavailable                          // how many may be disrupted at a time
	Allowed                                 // disruptionsAllowed, as another controller computed it
)

// Field returns the key of the kind in documents.
func (k AllowanceKind) Field() Field {
	switch k {
	case MinAvailable:
		return MinField
	case MaxUnavailable:
		return MaxField
	case Allowed:
		return AllowedField
	}
	return ""
}

// Allowance says how many of the selected allocations may be disrupted (PRE-67). Values are immutable.
type Allowance struct {
	Kind    AllowanceKind
	N       int32 // zero or more; with Percent at most 100
	Percent bool  // N is a percentage of the selected allocations; never with Allowed
}

// DisruptionsAllowed returns how many more of total selected allocations may be preempted when disrupted of them are
// preempting already. A percentage is rounded up for either kind, as in Kubernetes. The result is negative when too
// many are preempting.
func (a Allowance) DisruptionsAllowed(total, disrupted int) int {
	n := int(a.N)
	if a.Percent {
		n = (total*n + 99) / 100
	}
	if a.Kind == MinAvailable {
		return total - disrupted - n
	}
	return n - disrupted
}

// Number returns the number as documents have it: 3, or 50%.
func (a Allowance) Number() string {
	if a.Percent {
		return fmt.Sprintf("%d%%", a.N)
	}
	return fmt.Sprint(a.N)
}

// String returns the allowance as documents have it: minAvailable: 50%.
func (a Allowance) String() string { return fmt.Sprintf("%s: %s", a.Kind.Field(), a.Number()) }

// numberProblem returns the violation of the number; empty: none.
func (a Allowance) numberProblem() string {
	switch {
	case a.N < 0:
		return fmt.Sprintf("%s is below zero: %d", a.Kind.Field(), a.N)
	case a.Percent && a.Kind == Allowed:
		return "allowed is a number, not a percentage"
	case a.Percent && a.N > 100:
		return fmt.Sprintf("%s is above 100%%: %d%%", a.Kind.Field(), a.N)
	}
	return ""
}

const noAllowanceText = "it has none of minAvailable, maxUnavailable and allowed"
