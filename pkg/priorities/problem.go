package priorities

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// Reason is why a class or an ask is refused. It is stable: clients compare it.
type Reason string

// The reasons for which a class, or an ask, is refused.
const (
	InvalidName         Reason = "invalid-name"           // the name is no DNS subdomain (PRI-27)
	ReservedName        Reason = "reserved-name"          // the name begins with system-, and it is no system class with its own settings (PRI-28)
	AboveUserMaximum    Reason = "above-user-maximum"     // a value above UserMaximum (PRI-29)
	InvalidPolicy       Reason = "invalid-policy"         // neither Never nor PreemptLowerPriority (PRI-30)
	InvalidACL          Reason = "invalid-acl"            // a malformed access list
	InvalidValue        Reason = "invalid-value"          // missing, or no 32-bit integer
	InvalidKind         Reason = "invalid-kind"           // a Kubernetes object of another kind
	AlreadyExists       Reason = "already-exists"         // another class has the name
	SecondGlobalDefault Reason = "second-global-default"  // another class is the global default (PRI-31)
	ValueImmutable      Reason = "value-immutable"        // an update with another value (PRI-33)
	PolicyImmutable     Reason = "policy-immutable"       // an update with another policy (PRI-33)
	UnknownClass        Reason = "unknown-class"          // no class has the name
	PriorityMismatch    Reason = "priority-mismatch"      // an ask with another priority than its class (PRI-39)
	PolicyMismatch      Reason = "policy-mismatch"        // an ask with another policy than its class (PRI-40)
	NeedsPermission     Reason = "class-needs-permission" // the access list of the class does not allow the user of the ask (PRI-44)
	NeedsQuota          Reason = "class-needs-quota"      // no class quota covers an ask of a class that needs one (QUO-37)
	PriorityDisabled    Reason = "priority-disabled"      // an ask names a class in a partition with priority: disabled (PRI-23)
	ExceedsQuota        Reason = "exceeded-class-quota"   // an ask, or its new size, does not fit a class quota (QUO-36, QUO-39)
)

// Field is the field of a class that a Problem is about.
type Field string

// The fields of a class, as documents call them.
const (
	NameField    Field = "name"
	ValueField   Field = "value"
	DefaultField Field = "globalDefault"
	PolicyField  Field = "preemptionPolicy"
	ACLField     Field = "submitacl"
)

// Problem is why a class or an ask is refused.
type Problem struct {
	Reason Reason
	Class  string // the name of the class; empty: there is none
	Field  Field
	Text   string // without the name of the class
}

// Error is "reason: priority class NAME: text", or "reason: text" without a class.
func (p *Problem) Error() string {
	if p.Class == "" {
		return fmt.Sprintf("%s: %s", p.Reason, p.Text)
	}
	return fmt.Sprintf("%s: priority class %s: %s", p.Reason, names.Quote(p.Class), p.Text)
}

func problem(c *Class, reason Reason, f Field, text string, args ...any) *Problem {
	return &Problem{reason, c.Name, f, fmt.Sprintf(text, args...)}
}
