package budgets

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// DefaultNamespace is that of budgets and of work which name none, as in Kubernetes.
const DefaultNamespace = "default"

// Budget bounds how much of the work that it selects may be made to leave.
type Budget struct {
	Namespace string // it is about work of this namespace only (priority.md SC-093)
	Name      string
	Selector  Selector
	Allowance Allowance
}

// ID is the whole name, unique in a Registry: namespace/name.
func (b *Budget) ID() string { return b.Namespace + "/" + b.Name }

// Selects reports whether the budget is about work with these tags (priority.md 2.3).
func (b *Budget) Selects(tags map[string]string) bool {
	return NamespaceOf(tags) == b.Namespace && b.Selector.Matches(tags)
}

// Equal reports whether two budgets are the same in everything.
func (b *Budget) Equal(c *Budget) bool {
	return b.ID() == c.ID() && b.Allowance == c.Allowance && b.Selector.Equal(c.Selector)
}

// Check returns everything that is wrong with the budget on its own.
func (b *Budget) Check() []*Problem {
	var out []*Problem
	add := func(reason Reason, f Field, text string) {
		if text != "" {
			out = append(out, problem(b, reason, f, "%s", text))
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

// prefixed puts who is meant in front of what is wrong, if something is.
func prefixed(what, wrong string) string {
	if wrong == "" {
		return ""
	}
	return what + " " + wrong
}

// AllowanceKind is what the number of an Allowance counts.
type AllowanceKind uint8

// The kinds of allowances; a budget has exactly one.
const (
	MinAvailable   AllowanceKind = iota + 1 // who must stay
	MaxUnavailable                          // who may be leaving
	Allowed                                 // who may be leaving, as somebody else has found out
)

// Field is the key that the kind is written under.
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

// Allowance is how many may leave. Values are immutable.
type Allowance struct {
	Kind    AllowanceKind
	N       int32 // zero or more; with Percent at most 100
	Percent bool  // N is hundredths of how many there are; never with Allowed
}

// DisruptionsAllowed is how many more may be told to leave, of a number that is there, some of which were
// told so already. A share is rounded up, whichever kind it is, as Kubernetes does. It is
// negative when too many were.
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

// Number is the number as it is written: 3, or 50%.
func (a Allowance) Number() string {
	if a.Percent {
		return fmt.Sprintf("%d%%", a.N)
	}
	return fmt.Sprint(a.N)
}

// String is the allowance as it is written: minAvailable: 50%.
func (a Allowance) String() string { return fmt.Sprintf("%s: %s", a.Kind.Field(), a.Number()) }

// numberProblem says what is wrong with it, or nothing.
func (a Allowance) numberProblem() string {
	switch {
	case a.N < 0:
		return fmt.Sprintf("%s is below zero: %d", a.Kind.Field(), a.N)
	case a.Percent && a.Kind == Allowed:
		return "allowed is a number, not a share"
	case a.Percent && a.N > 100:
		return fmt.Sprintf("%s is above 100%%: %d%%", a.Kind.Field(), a.N)
	}
	return ""
}

const noAllowanceText = "it has none of minAvailable, maxUnavailable and allowed"
