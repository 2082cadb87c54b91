package budgets

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// Reason names a rule about budgets. It is stable: clients compare it.
type Reason string

// The reasons a budget is refused.
const (
	InvalidName      Reason = "invalid-name"      // no DNS subdomain
	InvalidNamespace Reason = "invalid-namespace" // no DNS label
	InvalidKind      Reason = "invalid-kind"      // an object of Kubernetes that is something else
	InvalidSelector  Reason = "invalid-selector"  // a label or a condition that cannot be
	InvalidAllowance Reason = "invalid-allowance" // neither a number nor a share
	OneAllowance     Reason = "one-allowance"     // none, or more than one
	DuplicateField   Reason = "duplicate-field"   // in spec and beside it
	AlreadyExists    Reason = "already-exists"    // another budget of the namespace has the name
	UnknownBudget    Reason = "unknown-budget"    // there is none of this name
)

// Field is the part of a budget that a Problem is about.
type Field string

// The fields of a budget, by their names in documents.
const (
	NameField      Field = "name"
	NamespaceField Field = "namespace"
	SelectorField  Field = "selector"
	MinField       Field = "minAvailable"
	MaxField       Field = "maxUnavailable"
	AllowedField   Field = "allowed"
)

// Problem says why a budget is refused.
type Problem struct {
	Reason Reason
	Budget string // its ID
	Field  Field  // empty: the budget as a whole
	Text   string // what is wrong, without the name
}

// Error is "reason: disruption budget namespace/name: text".
func (p *Problem) Error() string {
	return fmt.Sprintf("%s: disruption budget %s: %s", p.Reason, names.Quote(p.Budget), p.Text)
}

func problem(b *Budget, reason Reason, f Field, text string, args ...any) *Problem {
	return &Problem{reason, b.ID(), f, fmt.Sprintf(text, args...)}
}
