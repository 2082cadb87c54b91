package placement

import "fmt"

// Trace is how a submission was placed, or why it was rejected.
type Trace struct {
	Steps []Step // of the rules that were asked, in order; the last one decided
	Path  string // the queue; empty: rejected
	Err   error  // why it was rejected: ErrNoMatch, or what was wrong with a rule's queue
}

// Step is what one rule said about a submission.
type Step struct {
	Rule    string // as in reasons: provided, or tag namespace; root.default and recovery come after all rules
	Outcome Outcome
	Path    string // the queue it named; empty: none
	Reason  string // why not, empty when the rule decided
	Parent  *Step  // what its parent rule said; nil: it has none, or was done without
}

// Outcome is what came of asking a rule.
type Outcome uint8

// What can come of asking a rule.
const (
	PassedOver Outcome = iota // it has no opinion, or its queue cannot take the application: the next one is asked
	Named                     // it named the queue
	Rejected                  // what it named cannot be a queue: the application is rejected
)

func (o Outcome) String() string { return [...]string{"passed over", "named", "rejected"}[o] }

// reasons is what each rule that was passed over said, for a rejection.
func (e *Trace) reasons() []string {
	var out []string
	for _, s := range e.Steps {
		if s.Rule == DefaultQueue {
			out = append(out, "what no rule places: "+s.Reason)
			continue
		}
		out = append(out, fmt.Sprintf("rule %s: %s", s.Rule, s.Reason))
	}
	return out
}
