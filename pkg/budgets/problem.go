package budgets

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// Reason is why a budget is refused. It is stable: clients compare it.
type Reason string

// The reasons for which a budget is refused (PRE-72).
const (
	InvalidName      Reason = "invalid-name"      // the name is no DNS subdomain
	InvalidNamespace Reason = "invalid-namespace" // the namespace is no DNS label
	InvalidKind      Reason = "invalid-kind"      // a Kubernetes object of another kind
	InvalidSelector  Reason = "invalid-selector"  // a malformed label or expression
	InvalidAllowance Reason = "invalid-allowance" // neither a number nor a percentage
	OneAllowance     Reason = "one-allowance"     // none of the three allowances, or more than one
	DuplicateField   Reason = "duplicate-field"   // both inside and outside of spec
	AlreadyExists    Reason = "already-exists"    // another budget of the namespace has the name
	UnknownBudget    Reason = "unknown-budget"    // no budget of the namespace has the name
)

// Field is the field of a budget that a Problem is about.
type Field string

// The fields of a budget, as documents call them.
const (
	NameField      Field = "name"
	NamespaceField Field = "namespace"
	SelectorField  Field = "selector"
	MinField       Field = "minAvailable"
	MaxField       Field = "maxUnavailable"
	AllowedField   Field = "allowed"
)

// Problem is why a budget is refused.
type Problem struct {
	Reason Reason
	Budget string // its ID
	Field  Field  // empty: the budget as a whole
	Text   string // without the name of the budget
}

// Error is "reason: disruption budget namespace/name: text".
func (p *Problem) Error() string {
	return fmt.Sprintf("%s: disruption budget %s: %s", p.Reason, names.Quote(p.Budget), p.Text)
}

func problem(b *Budget, reason Reason, f Field, text string, args ...any) *Problem {
	return &Problem{reason, b.ID(), f, fmt.Sprintf(text, args...)}
}
