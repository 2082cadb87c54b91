package priorities

import "fmt"

// Request is what an ask says about its priority.
type Request struct {
	Class     string // the class it names; empty: none
	Priority  int32  // the number it sends; 0: none, which the interface cannot tell from 0
	HasPolicy bool   // it sends a policy, which is
	Preempts  bool   // that it may have victims; looked at if Policy
}

// Admission is what becomes of an ask.
type Admission struct {
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
func (r Registry) Admit(q Request, strict bool) (Admission, *Problem) {
	c, named := r.Default(), q.Class != ""
	if named {
		var ok bool
		if c, ok = r.Get(q.Class); !ok {
			return Admission{}, &Problem{UnknownClass, q.Class, NameField, "the ask names it, but there is no such class"}
		}
	}
	switch {
	case c == nil && strict && q.Priority != 0:
		return Admission{}, &Problem{PriorityMismatch, "", ValueField, sentPriority(q.Priority) +
			", but names no class, and there is no default"}
	case c == nil, !named && !strict && q.Priority != 0 && q.Priority != c.Value:
		return Admission{Priority: q.Priority}, nil
	case q.Priority != 0 && q.Priority != c.Value:
		return Admission{}, problem(c, PriorityMismatch, ValueField, "%s, but the class has %d", sentPriority(q.Priority), c.Value)
	}
	g := Admission{Priority: c.Value, Class: c, Preempts: c.Policy == PreemptLowerPriority}
	switch {
	case !q.HasPolicy || q.Preempts == g.Preempts:
	case named || strict:
		return Admission{}, problem(c, PolicyMismatch, PolicyField, "the ask sends the policy %s, but the class has %s",
			policyOf(q.Preempts), c.Policy)
	default:
		g.Preempts = false
	}
	return g, nil
}

// AdmitRecovered is Admit for what runs already: it was admitted when it was asked for, and classes
// may have changed since. So the number it sends counts, and nothing refuses it. Only one that
// sends none and names a class that exists has the number of the class (priority.md S3-17,
// S3-18, S3-19).
func (r Registry) AdmitRecovered(q Request) Admission {
	c, ok := r.Get(q.Class)
	if !ok || q.Priority != 0 && q.Priority != c.Value {
		return Admission{Priority: q.Priority}
	}
	preempts := c.Policy == PreemptLowerPriority
	if q.HasPolicy {
		preempts = q.Preempts
	}
	return Admission{Priority: c.Value, Class: c, Preempts: preempts}
}

func sentPriority(priority int32) string {
	return fmt.Sprintf("the ask sends the priority %d", priority)
}

func policyOf(preempts bool) Policy {
	if preempts {
		return PreemptLowerPriority
	}
	return Never
}
