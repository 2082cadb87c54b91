package budgets

import "github.com/canopy-scheduler/canopy/pkg/registry"

// Reason classifies why a budget is refused. It is stable: clients compare it.
type Reason = registry.Reason

// The reasons for which a budget is refused (PRE-72).
const (
	InvalidName      Reason = "invalid-name"         // the name is no DNS subdomain
	InvalidNamespace Reason = "invalid-namespace"    // the namespace is no DNS label
	InvalidSelector  Reason = "invalid-selector"     // a malformed label or expression
	InvalidAllowance Reason = "invalid-allowance"    // neither a number nor a percentage
	OneAllowance     Reason = "one-allowance"        // none of the three allowances, or more than one
	DuplicateField   Reason = "duplicate-field"      // both inside and outside of spec
	AlreadyExists           = registry.AlreadyExists // another budget of the namespace has the name
)

// Field is the field of a budget that a Problem is about.
type Field = registry.Field

// The fields of a budget, as documents call them.
const (
	NameField            = registry.NameField
	NamespaceField Field = "namespace"
	SelectorField  Field = "selector"
	MinField       Field = "minAvailable"
	MaxField       Field = "maxUnavailable"
	AllowedField   Field = "allowed"
)

// problem returns the refusal of a budget.
func problem(b *Budget, reason Reason, f Field, text string) *registry.Problem {
	return &registry.Problem{Kind: kindName, Name: b.ID(), Reason: reason, Field: f, Text: text}
}
