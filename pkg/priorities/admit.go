package priorities

import "fmt"

// Request is what an ask says about its priority.
type Request struct {
	Class    string // the class it names; empty: none
	Priority int32  // the number it sends; 0: none, which the interface cannot tell from 0
	Policy   bool   // it sends a policy, which is
	Preempts bool   // that it may have victims; looked at if Policy
}

// Grant is what becomes of an ask.
type Grant struct {
	Priority int32
	Class    *Class // the class it is of; nil: none, so what it sends about preemption counts
	Preempts bool   // it may have victims; looked at if Class is there
}

// Admit turns what a new ask says into its number and its right to have victims
// (priority.md S0-10 to S0-13, S0-18, 1.4, D1, D8).
//
// An ask of a named class has the number and the policy of the class. It may send them too,
// and is refused if they are others. One that names none is of the default class; if there
// is none, it has what it sends.
//
// Existing shims name no class and send the number that Kubernetes has found for them. So a
// number without a class counts, unless strict: then it is refused if it is neither 0 nor
// that of the default. When it is not strict, a policy that comes with the default class can
// only take away: never is never.
func (r Registry) Admit(q Request, strict bool) (Grant, *Problem) {
	c, named := r.Default(), q.Class != ""
	if named {
		var ok bool
		if c, ok = r.Get(q.Class); !ok {
			return Grant{}, &Problem{UnknownClass, q.Class, NameField, "the ask names it, but there is no such class"}
		}
	}
	switch {
	case c == nil && strict && q.Priority != 0:
		return Grant{}, &Problem{PriorityMismatch, "", ValueField, sends(q.Priority) +
			", but names no class, and there is no default"}
	case c == nil, !named && !strict && q.Priority != 0 && q.Priority != c.Value:
		return Grant{Priority: q.Priority}, nil
	case q.Priority != 0 && q.Priority != c.Value:
		return Grant{}, problem(c, PriorityMismatch, ValueField, "%s, but the class has %d", sends(q.Priority), c.Value)
	}
	g := Grant{Priority: c.Value, Class: c, Preempts: c.Policy == PreemptLowerPriority}
	switch {
	case !q.Policy || q.Preempts == g.Preempts:
	case named || strict:
		return Grant{}, problem(c, PolicyMismatch, PolicyField, "the ask sends the policy %s, but the class has %s",
			policyOf(q.Preempts), c.Policy)
	default:
		g.Preempts = false
	}
	return g, nil
}

// Recall is Admit for what runs already: it was admitted when it was asked for, and classes
// may have changed since. So the number it sends counts, and nothing refuses it. Only one that
// sends none and names a class that exists has the number of the class (priority.md S3-17,
// S3-18, S3-19).
func (r Registry) Recall(q Request) Grant {
	c, ok := r.Get(q.Class)
	if !ok || q.Priority != 0 && q.Priority != c.Value {
		return Grant{Priority: q.Priority}
	}
	preempts := c.Policy == PreemptLowerPriority
	if q.Policy {
		preempts = q.Preempts
	}
	return Grant{Priority: c.Value, Class: c, Preempts: preempts}
}

func sends(priority int32) string { return fmt.Sprintf("the ask sends the priority %d", priority) }

func policyOf(preempts bool) Policy {
	if preempts {
		return PreemptLowerPriority
	}
	return Never
}
