package quota

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// MoveTo makes the asks and allocations of a count in another leaf. Requires: a is a member of no account.
func (a *Application) MoveTo(leaf *Queue) { a.leaf = leaf }

// FirstBlockingMove returns the first constraint that a, which uses used, would exceed in another leaf; ok is false if
// there is none. The queues above both leaves, and the accounts in which a counts already, are not examined: nothing
// changes there. An application that does not run may wait for max applications in the leaf.
func (a *Application) FirstBlockingMove(leaf *Queue, used resources.Vector,
	names *resources.NameTable) (first Constraint, ok bool) {
	for c := range a.constraintsOfMove(leaf, names) {
		if a.blocksMove(c, used) {
			return c, true
		}
	}
	return first, false
}

func (a *Application) blocksMove(c Constraint, used resources.Vector) bool {
	switch c.kind {
	case LimitMaxApplications:
		return a.countedInLimits && c.Blocks(nil)
	case QueueMaxApplications:
		return a.countedRunning && c.Blocks(nil)
	}
	return !c.allows(c.allocated(), used)
}

// constraintsOfMove yields by kind the constraints that a would have in another leaf and does not have now.
func (a *Application) constraintsOfMove(leaf *Queue, names *resources.NameTable) iter.Seq[Constraint] {
	var accounts []*Account
	moved := Application{user: a.user, leaf: leaf}
	moved.eachLimit(func(q *Queue, h UserOrGroup, limit *limits.Limit) {
		x := q.accounts[h]
		if x == nil {
			x = newAccount(q, h, limit, names)
		}
		if !a.MemberOf(x) {
			accounts = append(accounts, x)
		}
	})
	var queues []*Queue
	for q := leaf; q != nil && !q.IsSelfOrAncestorOf(a.leaf); q = q.parent {
		queues = append(queues, q)
	}
	return func(yield func(Constraint) bool) {
		for _, kind := range [...]ConstraintKind{LimitMaxApplications, QueueMaxApplications, LimitMaxResources,
			QueueMaxResources} {
			if kind == LimitMaxApplications || kind == LimitMaxResources {
				for _, x := range accounts {
					if !yield(Constraint{kind, x.queue, x}) {
						return
					}
				}
				continue
			}
			for _, q := range queues {
				if !yield(Constraint{kind, q, nil}) {
					return
				}
			}
		}
	}
}

// ClassQuotasOfMove adds up what an application has in the class quotas of another leaf in which it does not count now.
type ClassQuotasOfMove struct {
	tree        *Tree
	from, moved *Application
	names       *resources.NameTable
	counted     []classMove
}

// classMove holds what counts in a class quota after a move.
type classMove struct {
	ref   classQuotaRef
	class string // of the first ask
	more  resources.Vector
	pods  int
}

// ClassQuotasOfMove returns an empty sum for a move of a to leaf.
func (t *Tree) ClassQuotasOfMove(a *Application, leaf *Queue, names *resources.NameTable) *ClassQuotasOfMove {
	return &ClassQuotasOfMove{tree: t, from: a, moved: &Application{user: a.user, leaf: leaf}, names: names}
}

// Add adds an ask or allocation of a class. It returns an error if the class needs a quota and none covers it in the
// leaf
// (QUO-37).
func (m *ClassQuotasOfMove) Add(class string, v resources.Vector) error {
	covered := false
	m.moved.eachClassQuota(class, func(c classQuotaRef) bool {
		covered = true
		if !c.queue.IsSelfOrAncestorOf(m.from.leaf) {
			m.count(c, class, v)
		}
		return true
	})
	if covered {
		return nil
	}
	return m.tree.quotaRequired(m.moved, class)
}

func (m *ClassQuotasOfMove) count(c classQuotaRef, class string, v resources.Vector) {
	for i := range m.counted {
		if of := &m.counted[i]; of.ref.queue == c.queue && of.ref.id == c.id {
			of.more.Add(v)
			of.pods++
			return
		}
	}
	of := classMove{ref: c, class: class, pods: 1}
	of.more.Add(v)
	m.counted = append(m.counted, of)
}

// Exceeded returns the error of the first quota that does not allow what was added; nil: all do (QUO-36).
func (m *ClassQuotasOfMove) Exceeded() error {
	for i := range m.counted {
		of := &m.counted[i]
		if err := of.ref.exceededBy(of.class, of.more, of.pods, m.names); err != nil {
			return err
		}
	}
	return nil
}
