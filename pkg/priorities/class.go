package priorities

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Values of classes (PRI-26, PRI-29).
const (
	UserMaximum     = 1_000_000_000 // the highest value of a class that is no system class
	ClusterCritical = 2_000_000_000 // of system-cluster-critical
	NodeCritical    = 2_000_001_000 // of system-node-critical
)

// Policy says whether asks of a class may preempt (PRI-30). The zero value is the default.
type Policy uint8

// The policies.
const (
	PreemptLowerPriority Policy = iota // they may preempt allocations of lower priority
	Never                              // they wait
)

func (p Policy) String() string {
	if p == Never {
		return "Never"
	}
	return "PreemptLowerPriority"
}

// ParsePolicy reads a policy in the spelling of Kubernetes. An empty text is the default.
func ParsePolicy(text string) (p Policy, ok bool) {
	switch text {
	case "", PreemptLowerPriority.String():
		return PreemptLowerPriority, true
	case Never.String():
		return Never, true
	}
	return 0, false
}

// Class is a priority class (PRI-25).
type Class struct {
	Name          string // a DNS subdomain
	Value         int32  // the larger number is the higher priority
	GlobalDefault bool   // asks without a class are of this class
	Policy        Policy
	Description   string // any UTF-8 text
	// SubmitACL lists the users and groups that may name the class (PRI-44). nil: all may, but nobody may name a system
	// class. It is not checked for asks that get the class by default.
	SubmitACL *security.ACL
}

var denyAllUsers = security.AllowList(nil, nil)

// AllowedUsers returns the ACL of the users that may name the class (PRI-44); nil: every user may.
func (c *Class) AllowedUsers() *security.ACL {
	if c.SubmitACL == nil && c.IsSystem() {
		return &denyAllUsers
	}
	return c.SubmitACL
}

// IsSystem reports whether the class has the name of a system class (PRI-26).
func (c *Class) IsSystem() bool {
	_, ok := systemValues[c.Name]
	return ok
}

// Equal reports whether all fields of two classes are equal.
func (c *Class) Equal(d *Class) bool {
	a, b := *c, *d
	a.SubmitACL, b.SubmitACL = nil, nil
	same := (c.SubmitACL == nil) == (d.SubmitACL == nil) &&
		(c.SubmitACL == nil || c.SubmitACL.String() == d.SubmitACL.String())
	return a == b && same
}

const systemPrefix = "system-"

// systemValues holds the values of the system classes.
var systemValues = map[string]int32{
	"system-cluster-critical": ClusterCritical,
	"system-node-critical":    NodeCritical,
}

// systemClasses returns the classes that always exist, in name order.
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

// Check returns every violation of the class by itself (PRI-27 to PRI-30).
func (c *Class) Check() []*registry.Problem {
	var out []*registry.Problem
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
			"the value %d is above %d, the highest of a class that is no system class", c.Value, UserMaximum))
	}
	return out
}

// checkSystem returns the violation of a class whose name begins with system-.
func (c *Class) checkSystem() []*registry.Problem {
	value, known := systemValues[c.Name]
	switch {
	case !known:
		return []*registry.Problem{problem(c, ReservedName, NameField, "names that begin with %s are reserved", systemPrefix)}
	case c.Value != value:
		return []*registry.Problem{problem(c, ReservedName, ValueField, "the value must be %d, not %d", value, c.Value)}
	case c.GlobalDefault:
		return []*registry.Problem{problem(c, ReservedName, DefaultField, "a system class cannot be the default")}
	case c.Policy == Never:
		return []*registry.Problem{problem(c, ReservedName, PolicyField, "the policy must be %s", PreemptLowerPriority)}
	}
	return nil
}
