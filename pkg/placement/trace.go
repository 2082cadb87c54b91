package placement

import "fmt"

// Trace records how a submission was placed, or why it was rejected (PLC-31).
type Trace struct {
	Steps []Step // of the rules that were tried, in order; the last one decided
	Path  string // the queue; empty: rejected
	Err   error  // why it was rejected: ErrNoMatch, or the error of a rule
}

// Step is the result of one rule for a submission.
type Step struct {
	Rule    string // Rule.String; root.default and recovery come after all rules
	Outcome Outcome
	Path    string // the queue that it derived; empty: none
	Reason  string // why it was passed over or rejected; empty if it decided
	Parent  *Step  // of its parent rule; nil: it has none, or did not need it
}

// Outcome is the outcome of a rule.
type Outcome uint8

// The outcomes of a rule.
const (
	PassedOver Outcome = iota // it derives no queue, or one that cannot be used: the next rule is tried
	Named                     // it decided the queue
	Rejected                  // it derives an illegal queue: the application is rejected (PLC-3)
)

func (o Outcome) String() string { return [...]string{"passed over", "named", "rejected"}[o] }

// reasons returns the reasons of all rules, for a rejection (PLC-7).
func (e *Trace) reasons() []string {
	var out []string
	for _, s := range e.Steps {
		if s.Rule == DefaultQueue {
			out = append(out, "default queue: "+s.Reason)
			continue
		}
		out = append(out, fmt.Sprintf("rule %s: %s", s.Rule, s.Reason))
	}
	return out
}
