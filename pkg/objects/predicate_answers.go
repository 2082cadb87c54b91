package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// Answers of the predicates of the resource manager, remembered for asks of which it says that they have the same
// answers (NOD-41). A node keeps its own, and forgets them when anything about it changes.

// PredicateClassTag is the tag of an ask whose value is its predicate class: the RM gives the same answer about a node
// to all asks of the same class and shape, until something about the node changes. Without it nothing is remembered.
const PredicateClassTag = "canopy.scheduler/predicateClass"

// maxAnswers is how many answers a node keeps; with one more it forgets all.
const maxAnswers = 64

// predicateClass is what has the same answers on a node.
type predicateClass struct {
	shape *feasibility.Shape
	class string
}

// predicateClass is that of x; ok is false if it has none.
func (x *Allocation) predicateClass() (c predicateClass, ok bool) {
	class := x.ask.Tags()[PredicateClassTag]
	return predicateClass{x.shape, class}, class != ""
}

// PredicateAnswer is the remembered answer about x on n; known is false if there is none.
func (n *Node) PredicateAnswer(x *Allocation) (accepted, known bool) {
	if n.answers == nil {
		return false, false
	}
	c, ok := x.predicateClass()
	if !ok {
		return false, false
	}
	accepted, known = n.answers[c]
	return accepted, known
}

// RememberAnswer remembers what the RM answered about x on n, if x has a predicate class.
func (n *Node) RememberAnswer(x *Allocation, accepted bool) {
	c, ok := x.predicateClass()
	if !ok {
		return
	}
	if n.answers == nil || len(n.answers) >= maxAnswers {
		n.answers = map[predicateClass]bool{}
	}
	n.answers[c] = accepted
}

// ForgetAnswers forgets all answers about n.
func (n *Node) ForgetAnswers() { n.answers = nil }

// answerChanges forgets the answers about nodes that change. What the RM itself says of a node is a change that the
// Core knows (NOD-41).
type answerChanges struct {
	ignoreAskChanges
	ignoreAccountChanges
	ignoreApplicationChanges
	ignoreConfigurationChanges
}

func (answerChanges) nodeUsageChanged(n *Node)        { n.ForgetAnswers() }
func (answerChanges) preemptionMarked(x *Allocation)  { x.node.ForgetAnswers() }
func (answerChanges) placeholderEnding(y *Allocation) { y.node.ForgetAnswers() }

func (answerChanges) allocationTagged(x *Allocation) {
	if x.node != nil {
		x.node.ForgetAnswers()
	}
}

// The other changes are about no node, follow from a command about it, or change its usage too.

func (answerChanges) allocationPosted(*Allocation)              {}
func (answerChanges) allocationUnposted(*Allocation)            {}
func (answerChanges) allocationResized(*Allocation)             {}
func (answerChanges) preemptionUnmarked(*Allocation)            {}
func (answerChanges) replacementAdded(*Allocation, *Allocation) {}
func (answerChanges) replacementEnded(*Allocation, *Allocation) {}
func (answerChanges) replaced(*Allocation)                      {}
func (answerChanges) gangCountsChanged(*Application)            {}
func (answerChanges) gangRefused(*Application, []MemberGroup)   {}
func (answerChanges) askGroupHeld(*AskGroup)                    {}
func (answerChanges) nodeAdded(*Node)                           {}
func (answerChanges) nodeRemoved(*Node)                         {}
func (answerChanges) nodeFreed(*Node)                           {}
func (answerChanges) nodeRestored(*Node)                        {}
func (answerChanges) schedulabilityChanged(*Node)               {}
func (answerChanges) nodeAttributesChanged(*Node)               {}
func (answerChanges) nodeBudgetsChanged(*Node)                  {}
func (answerChanges) foreignAdded(*Node, *Foreign)              {}
func (answerChanges) foreignRemoved(*Node, *Foreign)            {}
func (answerChanges) capacityChanged(*Queue)                    {}
func (answerChanges) queueUsageChanged(*Queue)                  {}
func (answerChanges) queuePreemptingChanged(*Queue)             {}
func (answerChanges) queueRunningChanged(*Queue)                {}
func (answerChanges) queueSettingsChanged(*Queue)               {}
func (answerChanges) queueChanged(*Queue)                       {}
func (answerChanges) queueStateChanged(*Queue, QueueChange)     {}
func (answerChanges) quotasChanged(*Queue)                      {}
func (answerChanges) queueTreeChanged()                         {}
