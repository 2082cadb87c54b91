package placement

import (
	"errors"
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Submission is all that a rule may know about an application.
type Submission struct {
	Queue        string // as the RM named it; may be empty
	User         security.User
	Tags         map[string]string
	CreateForced bool // it runs already: it is placed in Recovery when no rule places it
}

// Tree is what rules see of the queues.
type Tree interface {
	// Lookup finds a queue by its lower-case path.
	Lookup(path string) (QueueInfo, bool)
	// SubmitDenyReason says why u may not submit to the queue at path or, where there is none yet,
	// have it made below the nearest queue that exists; empty: u may.
	SubmitDenyReason(path string, u security.User) string
}

// QueueInfo is what rules know about an existing queue.
type QueueInfo struct{ Leaf, Draining bool }

// Queues that placement knows by name. See also Recovery.
const (
	Root         = "root"
	DefaultQueue = "root.default" // taken when no rule matched and it exists
)

// ErrNoMatch says that no rule named a queue that can take the application. It is
// wrapped with what each rule had to say.
var ErrNoMatch = errors.New("no placement rule matched")

// Place names the queue for a submission: a leaf that exists and is not draining, or a
// path that does not exist and may be created. An error of a rule ends the search, as a
// rule that has no opinion does not, nor one that names a queue to which the user may not
// submit (behaviour.md 7.1). Without rules the queue must be named by the submission and
// exist. Recovery is the only queue whose access list is not asked.
func Place(rules []Rule, s Submission, t Tree) (path string, err error) {
	e := Explain(rules, s, t)
	return e.Path, e.Err
}

// Explain is Place with what every rule that was asked had to say.
func Explain(rules []Rule, s Submission, t Tree) Trace {
	if len(rules) == 0 {
		rules = []Rule{{Kind: Provided}}
	}
	e := Trace{Steps: make([]Step, 0, len(rules)+2)}
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
			e.Err = fmt.Errorf("placement rule %s: %s", step.Rule, step.Reason)
			return e
		}
	}
	if _, ok := t.Lookup(DefaultQueue); ok {
		step := Step{Rule: DefaultQueue, Outcome: Named, Path: DefaultQueue}
		step.checkUsable(s.User, t)
		if e.Steps = append(e.Steps, step); step.Outcome == Named {
			e.Path = DefaultQueue
			return e
		}
	}
	if s.CreateForced {
		e.Steps = append(e.Steps, recoveryStep())
		e.Path = RecoveryQueue
		return e
	}
	e.Err = fmt.Errorf("%w: %s", ErrNoMatch, strings.Join(e.reasons(), "; "))
	return e
}

// checkUsable passes over a queue that was named but cannot take the application of u.
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
	}
	return t.SubmitDenyReason(path, u)
}
