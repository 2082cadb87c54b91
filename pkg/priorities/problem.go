package priorities

import "github.com/canopy-scheduler/canopy/pkg/registry"

// Reason classifies why a class or an ask is refused. It is stable: clients compare it.
type Reason = registry.Reason

// The reasons for which a class, or an ask, is refused.
const (
	InvalidName Reason = "invalid-name" // the name is no DNS subdomain (PRI-27)
	// the name begins with system-, and it is no system class with its own settings (PRI-28)
	ReservedName               = registry.ReservedName
	AboveUserMaximum    Reason = "above-user-maximum"   // a value above UserMaximum (PRI-29)
	InvalidPolicy       Reason = "invalid-policy"       // neither Never nor PreemptLowerPriority (PRI-30)
	InvalidACL          Reason = "invalid-acl"          // a malformed access list
	InvalidValue        Reason = "invalid-value"        // missing, or no 32-bit integer
	AlreadyExists              = registry.AlreadyExists // another class has the name
	SecondGlobalDefault        = registry.SecondDefault // another class is the global default (PRI-31)
	ValueImmutable      Reason = "value-immutable"      // an update with another value (PRI-33)
	PolicyImmutable     Reason = "policy-immutable"     // an update with another policy (PRI-33)
	UnknownClass        Reason = "unknown-class"        // no class has the name
	PriorityMismatch    Reason = "priority-mismatch"    // an ask with another priority than its class (PRI-39)
	PolicyMismatch      Reason = "policy-mismatch"      // an ask with another policy than its class (PRI-40)
	// the access list of the class does not allow the user of the ask (PRI-44)
	NeedsPermission Reason = "class-needs-permission"
	// no class quota covers an ask of a class that needs one (QUO-37)
	NeedsQuota Reason = "class-needs-quota"
	// an ask names a class in a partition with priority: disabled (PRI-23)
	PriorityDisabled Reason = "priority-disabled"
	// an ask, or its new size, does not fit a class quota (QUO-36, QUO-39)
	ExceedsQuota Reason = "exceeded-class-quota"
)

// Field is the field of a class that a problem is about.
type Field = registry.Field

// The fields of a class, as documents call them.
const (
	NameField          = registry.NameField
	ValueField   Field = "value"
	DefaultField Field = "globalDefault"
	PolicyField  Field = "preemptionPolicy"
	ACLField     Field = "submitacl"
)

// Problem says why an ask is refused because of its class.
type Problem struct {
	Reason Reason
	Class  string // the name of the class; empty: there is none
	Field  Field
	Text   string // without the name of the class
}

// Error returns "reason: priority class NAME: text", or "reason: text" without a class.
func (p *Problem) Error() string {
	return (&registry.Problem{Kind: kindName, Name: p.Class, Reason: p.Reason, Field: p.Field, Text: p.Text}).Error()
}
