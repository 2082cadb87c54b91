package priorities

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// Reason names a rule about classes. It is stable: clients compare it.
type Reason string

// The reasons a class is refused, and those an ask is.
const (
	InvalidName         Reason = "invalid-name"           // no DNS subdomain
	ReservedName        Reason = "reserved-name"          // begins with system-, and is not a class of the system as it is
	AboveUserMaximum    Reason = "above-user-maximum"     // a value above UserMaximum
	InvalidPolicy       Reason = "invalid-policy"         // neither Never nor PreemptLowerPriority
	InvalidACL          Reason = "invalid-acl"            // an access list that cannot be read
	InvalidValue        Reason = "invalid-value"          // missing, or no whole number of 32 bits
	InvalidKind         Reason = "invalid-kind"           // an object of Kubernetes that is something else
	AlreadyExists       Reason = "already-exists"         // another class has the name
	SecondGlobalDefault Reason = "second-global-default"  // another class is the default
	ValueImmutable      Reason = "value-immutable"        // an update with another value
	PolicyImmutable     Reason = "policy-immutable"       // an update with another policy
	UnknownClass        Reason = "unknown-class"          // there is none of this name
	PriorityMismatch    Reason = "priority-mismatch"      // an ask with another number than that of its class
	PolicyMismatch      Reason = "policy-mismatch"        // an ask with another policy than that of its class
	NeedsPermission     Reason = "class-needs-permission" // the user of the ask is not on the list of its class
	NeedsQuota          Reason = "class-needs-quota"      // no quota covers an ask of a class that needs one
	PriorityDisabled    Reason = "priority-disabled"      // an ask names a class in a partition that has priorities switched off
	ExceedsQuota        Reason = "exceeded-class-quota"   // an ask, or what it grows to, is more than a quota of its class leaves
)

// Field is the part of a class that a Problem is about.
type Field string

// The fields of a class, by their names in documents.
const (
	NameField    Field = "name"
	ValueField   Field = "value"
	DefaultField Field = "globalDefault"
	PolicyField  Field = "preemptionPolicy"
	ACLField     Field = "submitacl"
)

// Problem says why a class is refused.
type Problem struct {
	Reason Reason
	Class  string // its name; empty: none
	Field  Field
	Text   string // what is wrong, without the name
}

// Error is "reason: priority class name: text", or without the class if there is none.
func (p *Problem) Error() string {
	if p.Class == "" {
		return fmt.Sprintf("%s: %s", p.Reason, p.Text)
	}
	return fmt.Sprintf("%s: priority class %s: %s", p.Reason, names.Quote(p.Class), p.Text)
}

func problem(c *Class, reason Reason, f Field, text string, args ...any) *Problem {
	return &Problem{reason, c.Name, f, fmt.Sprintf(text, args...)}
}
