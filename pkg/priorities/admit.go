package priorities

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// Request holds what an ask sends about its priority.
type Request struct {
	Class     string // the class that it names; empty: none
	Priority  int32  // the priority that it sends; 0 also means none: the interface cannot tell them apart
	HasPolicy bool   // it sends a preemption policy
	Preempts  bool   // allowPreemptOther of that policy
}

// Admission is the priority of an admitted ask.
type Admission struct {
	Priority int32
	Class    *Class // its priority class; nil: it has none, and the policy that it sends counts
	Preempts bool   // it may preempt; undefined without Class
}

// Admit determines priority, priority class and preemption policy of a new ask (PRI-37 to PRI-43).
//
// An ask that names a priority class gets the number and the policy of the class; if it also sends other values, it is
// rejected. An ask without a class is of the default class; if there is none, it keeps what it sends.
//
// Existing shims name no class and send the number that Kubernetes resolved. So a number without a class counts. With
// strict, an ask without a class is rejected if its number is neither 0 nor that of the default. Without strict, a
// policy that comes without a class can only take away the right to preempt (PRI-42).
func Admit(r Registry, q Request, strict bool) (Admission, *Problem) {
	c, named := r.Default(), q.Class != ""
	if named {
		var ok bool
		c, ok = r.Get(registry.Key{Name: q.Class})
		if !ok {
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
		return Admission{},
			&Problem{PriorityMismatch, c.Name, ValueField,
				fmt.Sprintf("%s, but the class has %d", sentPriority(q.Priority), c.Value)}
	}
	g := Admission{Priority: c.Value, Class: c, Preempts: c.Policy == PreemptLowerPriority}
	switch {
	case !q.HasPolicy || q.Preempts == g.Preempts:
	case named || strict:
		return Admission{},
			&Problem{PolicyMismatch, c.Name, PolicyField, fmt.Sprintf("the ask sends the policy %s, but the class has %s",
				policyOf(q.Preempts), c.Policy)}
	default:
		g.Preempts = false
	}
	return g, nil
}

// AdmitRecovered admits a reported allocation, which is never rejected (PRI-46): priority classes may have changed
// since it was admitted. The number that it sends counts, except that 0 with a class that exists means the number of
// the class.
func AdmitRecovered(r Registry, q Request) Admission {
	c, ok := r.Get(registry.Key{Name: q.Class})
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
