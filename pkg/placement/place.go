package placement

import (
	"errors"
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Submission holds the parts of an application that placement reads.
type Submission struct {
	Queue        string // the queue that the application names; may be empty
	User         security.User
	Tags         map[string]string
	CreateForced bool // it is placed in RecoveryQueue if no rule places it, or one fails (PLC-28)

	groups map[string]bool // of User, for filters that list many; set by Explain
}

// Tree gives placement access to the queues.
type Tree interface {
	// Lookup returns the queue of a lower-case path.
	Lookup(path string) (QueueInfo, bool)
	// SubmitDenyReason says why u may not submit to the queue at path or, if it does not exist yet, have it created below
	// the nearest queue that exists; empty: u may (PLC-5).
	SubmitDenyReason(path string, u security.User) string
}

// QueueInfo holds the state of an existing queue that placement reads.
type QueueInfo struct {
	Leaf     bool
	Draining bool // it is being removed
	Drained  bool // by an operator: it accepts no new application (OPS-8)
}

// Queues with a meaning for placement. See also RecoveryQueue.
const (
	Root         = "root"
	DefaultQueue = "root.default" // used if no rule places the application and it exists (PLC-6)
)

// ErrNoMatch is returned if no rule derives a usable queue. It is wrapped with the reason of each rule (PLC-7).
var ErrNoMatch = errors.New("no placement rule matched")

// Place returns the queue of a submission: an existing leaf that is neither draining nor drained, or a path that does
// not exist and may be created (PLC-1 to PLC-6, PLC-28). The error of a rule ends the search; a rule that derives no
// queue, or one to which the user may not submit, is passed over. Without rules the submission must name an existing
// queue. RecoveryQueue is the only queue whose access list is not checked.
func Place(rules []Rule, s Submission, t Tree) (path string, err error) {
	e := Explain(rules, s, t)
	return e.Path, e.Err
}

// Explain does what Place does, and returns the result of every rule that was tried.
func Explain(rules []Rule, s Submission, t Tree) Trace {
	if len(rules) == 0 {
		rules = []Rule{{Kind: Provided}}
	}
	e := Trace{Steps: make([]Step, 0, len(rules)+2)}
	if reason := filterCostReason(rules, s.User); reason != "" {
		e.Steps = append(e.Steps, Step{Rule: "filters", Outcome: Rejected, Reason: reason})
		return e.unplaced(s, errors.New(reason))
	}
	s.groups = make(map[string]bool, len(s.User.Groups))
	for _, g := range s.User.Groups {
		s.groups[g] = true
	}
	for i := range rules {
		step := rules[i].evaluate(s, t)
		if step.Outcome == Named {
			step.checkUsable(s.User, t)
		}
		e.Steps = append(e.Steps, step)
		switch step.Outcome {
		case Named:
			e.Path = step.Path
			return e
		case Rejected:
			return e.unplaced(s, fmt.Errorf("placement rule %s: %s", step.Rule, step.Reason))
		}
	}
	if _, ok := t.Lookup(DefaultQueue); ok {
		step := Step{Rule: DefaultQueue, Outcome: Named, Path: DefaultQueue}
		step.checkUsable(s.User, t)
		e.Steps = append(e.Steps, step)
		if step.Outcome == Named {
			e.Path = DefaultQueue
			return e
		}
	}
	return e.unplaced(s, fmt.Errorf("%w: %s", ErrNoMatch, strings.Join(e.reasons(), "; ")))
}

// unplaced ends the trace of a submission that the rules do not place. A forced one goes to the recovery queue
// (PLC-28).
func (e Trace) unplaced(s Submission, err error) Trace {
	if !s.CreateForced {
		e.Err = err
		return e
	}
	e.Steps = append(e.Steps, recoveryStep())
	e.Path = RecoveryQueue
	return e
}

// checkUsable turns the step into one that is passed over if its queue cannot take an application of u.
func (s *Step) checkUsable(u security.User, t Tree) {
	if reason := unusableReason(s.Path, u, t); reason != "" {
		s.Outcome, s.Reason = PassedOver, reason
	}
}

// unusableReason says why an application of u cannot be placed at path; empty: it can.
func unusableReason(path string, u security.User, t Tree) string {
	queue, exists := t.Lookup(path)
	switch {
	case path == RecoveryQueue || strings.HasPrefix(path, RecoveryQueue+"."):
		return fmt.Sprintf("queue %s is only for applications that are recovered", path)
	case exists && !queue.Leaf:
		return fmt.Sprintf("queue %s is not a leaf", path)
	case exists && queue.Draining:
		return fmt.Sprintf("queue %s is being removed", path)
	case exists && queue.Drained:
		return fmt.Sprintf("queue %s is drained by an operator", path)
	}
	return t.SubmitDenyReason(path, u)
}
