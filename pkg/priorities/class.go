package priorities

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The values that classes may have (priority.md S0-16, S2-31; D2).
const (
	UserMaximum     = 1_000_000_000 // the highest value of a class that users make
	ClusterCritical = 2_000_000_000 // of system-cluster-critical
	NodeCritical    = 2_000_001_000 // of system-node-critical
)

// Policy says whether work of a class may have victims. The zero value is what a class
// has that does not say (priority.md D1).
type Policy uint8

// The policies.
const (
	PreemptLowerPriority Policy = iota // it may preempt work of lower priority
	Never                              // it waits
)

func (p Policy) String() string {
	if p == Never {
		return "Never"
	}
	return "PreemptLowerPriority"
}

// ParsePolicy reads a policy as Kubernetes writes it. An empty text is the default.
func ParsePolicy(text string) (p Policy, ok bool) {
	switch text {
	case "", PreemptLowerPriority.String():
		return PreemptLowerPriority, true
	case Never.String():
		return Never, true
	}
	return 0, false
}

// Class is a name for a priority.
type Class struct {
	Name          string // a DNS subdomain
	Value         int32  // the larger, the more important
	GlobalDefault bool   // asks without a class are of this one
	Policy        Policy
	Description   string // for people; any text in UTF-8
	// SubmitACL is who may name the class. nil: everybody, but nobody for a class of the
	// system (priority.md S0-25). It is not asked about what is of the class by default.
	SubmitACL *security.ACL
}

// CheckConfig reports whether a user may name the class.
func (c *Class) MayUse(u security.User) bool {
	if c.SubmitACL == nil {
		return !c.IsSystem()
	}
	return c.SubmitACL.Allows(u)
}

// IneligibleSystemPriority reports whether the class is one of the system's own.
func (c *Class) IsSystem() bool {
	_, ok := systemValues[c.Name]
	return ok
}

// Equal reports whether two classes are the same in everything.
func (c *Class) Equal(d *Class) bool {
	a, b := *c, *d
	a.SubmitACL, b.SubmitACL = nil, nil
	same := (c.SubmitACL == nil) == (d.SubmitACL == nil) && (c.SubmitACL == nil || c.SubmitACL.String() == d.SubmitACL.String())
	return a == b && same
}

const systemPrefix = "system-"

// systemValues are the classes that are always there.
var systemValues = map[string]int32{
	"system-cluster-critical": ClusterCritical,
	"system-node-critical":    NodeCritical,
}

func systemClasses() []Class {
	return []Class{
		{
			Name: "system-cluster-critical", Value: ClusterCritical,
			Description: "For what must run in the cluster, and may move to another node if it has to.",
		}, {
			Name: "system-node-critical", Value: NodeCritical,
			Description: "For what must run on its node.",
		},
	}
}

// Check returns everything that is wrong with the class on its own (priority.md S0-16,
// S0-23, 1.4).
func (c *Class) Check() []*Problem {
	var out []*Problem
	if c.Name == "" {
		out = append(out, problem(c, InvalidName, NameField, "it has no name"))
	} else if reason := names.SubdomainProblem(c.Name); reason != "" {
		out = append(out, problem(c, InvalidName, NameField, "the name %s", reason))
	}
	if c.Policy > Never {
		out = append(out, problem(c, InvalidPolicy, PolicyField, "there is no policy %d", c.Policy))
	}
	if strings.HasPrefix(c.Name, systemPrefix) {
		return append(out, c.checkSystem()...)
	}
	if c.Value > UserMaximum {
		out = append(out, problem(c, AboveUserMaximum, ValueField,
			"the value %d is above %d, the highest that is not the system's", c.Value, UserMaximum))
	}
	return out
}

func (c *Class) checkSystem() []*Problem {
	value, known := systemValues[c.Name]
	switch {
	case !known:
		return []*Problem{problem(c, ReservedName, NameField, "names that begin with %s are the system's", systemPrefix)}
	case c.Value != value:
		return []*Problem{problem(c, ReservedName, ValueField, "the value must be %d, not %d", value, c.Value)}
	case c.GlobalDefault:
		return []*Problem{problem(c, ReservedName, DefaultField, "a class of the system is never the default")}
	case c.Policy == Never:
		return []*Problem{problem(c, ReservedName, PolicyField, "the policy must be %s", PreemptLowerPriority)}
	}
	return nil
}
