package objects

import "github.com/canopy-scheduler/canopy/pkg/feasibility"

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
type answerChanges struct{}

// Wants leaves out the changes that are about no node, follow from a command about it, or change its usage too.
func (answerChanges) Wants() ChangeSet {
	return 1<<NodeUsageChanged | 1<<PreemptionMarked | 1<<PlaceholderEnding | 1<<AllocationTagged
}

func (answerChanges) On(c *Change) {
	switch c.Kind {
	case NodeUsageChanged:
		c.Node.ForgetAnswers()
	case PreemptionMarked, PlaceholderEnding, AllocationTagged:
		if c.Ask.node != nil {
			c.Ask.node.ForgetAnswers()
		}
	}
}
