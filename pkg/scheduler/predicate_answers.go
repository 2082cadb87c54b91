package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// PredicateClassTag is the tag of an ask whose value is its predicate class: the RM gives the same answer about a node
// to all asks of the same class and shape, until something about the node changes. Without it nothing is remembered.
const PredicateClassTag = "canopy.scheduler/predicateClass"

// maxAnswers bounds the answers about a node that are remembered; with one more all are forgotten.
const maxAnswers = 64

// predicateAnswers remembers the answers of the predicates of the resource manager, for asks of which it says that they
// have the same ones (NOD-41). All about a node are forgotten when anything about it changes. What the RM itself says
// of a node is a change that the Core knows.
type predicateAnswers map[*objects.Node]map[predicateClass]bool

// predicateClass has what has the same answers on a node.
type predicateClass struct {
	shape *feasibility.Shape
	class string
}

// of returns the remembered answer about x on n; known is false if there is none.
func (a predicateAnswers) of(x *objects.Allocation, n *objects.Node) (accepted, known bool) {
	if len(a) == 0 {
		return false, false
	}
	accepted, known = a[n][predicateClass{x.Shape(), x.Ask().Tags()[PredicateClassTag]}]
	return accepted, known
}

// remember remembers what the RM answered about x on n, if x has a predicate class.
func (a predicateAnswers) remember(x *objects.Allocation, n *objects.Node, accepted bool) {
	c := predicateClass{x.Shape(), x.Ask().Tags()[PredicateClassTag]}
	if c.class == "" {
		return
	}
	if of := a[n]; of == nil || len(of) >= maxAnswers {
		a[n] = map[predicateClass]bool{}
	}
	a[n][c] = accepted
}

// Wants leaves out the changes that are about no node, follow from a command about it, or change its usage too.
func (predicateAnswers) Wants() objects.ChangeSet {
	return 1<<objects.NodeUsageChanged | 1<<objects.NodeRemoved | 1<<objects.PreemptionMarked |
		1<<objects.EndOrdered | 1<<objects.AllocationTagged
}

// On implements objects.Consumer.
func (a predicateAnswers) On(c *objects.Change) {
	if len(a) == 0 {
		return
	}
	switch c.Kind {
	case objects.NodeUsageChanged, objects.NodeRemoved:
		delete(a, c.Node)
	case objects.PreemptionMarked, objects.EndOrdered, objects.AllocationTagged:
		delete(a, c.Ask.Node())
	}
}
