package scheduler

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// eachGroup yields the ask groups with pending asks whose waiting states may differ from those of the last
// evaluation, whether or not they can be placed. Those of one application are together. The groups of which others may
// take quota are in selection order: the groups of an application by their first asks. Left out are the groups of a
// settled application: it is independent, and neither its asks nor the configuration have changed since. They cost
// nothing. yielded is the number of groups.
func (w *waitingChanges) eachGroup(p *objects.Partition, yield func(*objects.AskGroup)) (yielded int) {
	e := groupEvaluation{changes: w, yield: yield}
	all, unsettled := !w.quotasSettled, w.takeUnsettled()
	w.quotasSettled = true
	applications, _, _ := p.Counts()
	if !all {
		unsettled = e.visitIndependent(unsettled)
	}
	if all || 4*len(unsettled) > applications { // sorting them costs more than a walk over all
		e.walk(p.Root(), all)
	} else if len(unsettled) > 0 {
		e.mark(unsettled)
		e.visitMarked(p.Root())
	}
	return e.yielded
}

// independent reports whether the waiting states of the asks of a depend on no other application, and those of each ask
// on no other ask: no max and no limit bounds a, and it is neither in a gang nor in a StateAware leaf.
func independent(a *objects.Application) bool {
	return a.Gang() == nil && !a.Queue().StateAware() && a.Constraints().OnlyCapacity()
}

// groupEvaluation is one pass over ask groups with pending asks.
type groupEvaluation struct {
	changes *waitingChanges
	yield   func(*objects.AskGroup)
	yielded int
	marked  map[*objects.Queue][]*objects.Application // leaves with the applications to visit there, and the queues above
}

// visitIndependent visits the independent applications of apps, in no order, and returns the others.
func (e *groupEvaluation) visitIndependent(apps []*objects.Application) (others []*objects.Application) {
	return slices.DeleteFunc(apps, func(a *objects.Application) bool {
		if !independent(a) {
			return false
		}
		a.Unsettled = false
		for group := range a.EachAskGroup {
			if group.PendingCount() > 0 {
				e.yielded++
				e.yield(group)
			}
		}
		return true
	})
}

// walk visits all applications with pending asks in and below q, or those that are unsettled.
func (e *groupEvaluation) walk(q *objects.Queue, all bool) {
	for child := range q.OrderedChildren() {
		e.walk(child, all)
	}
	for a := range q.OrderedApplications() {
		if all || a.Unsettled {
			e.visit(a)
		}
	}
}

// mark marks the leaves of apps, and the queues above them.
func (e *groupEvaluation) mark(apps []*objects.Application) {
	e.marked = make(map[*objects.Queue][]*objects.Application, 2*len(apps)) // a leaf for each, and few queues above
	for _, a := range apps {
		leaf := a.Queue()
		e.marked[leaf] = append(e.marked[leaf], a)
		for q := leaf.Parent(); q != nil; q = q.Parent() {
			if _, ok := e.marked[q]; ok {
				break
			}
			e.marked[q] = nil
		}
	}
}

func (e *groupEvaluation) visitMarked(q *objects.Queue) {
	for child := range q.OrderedChildren() {
		if _, ok := e.marked[child]; ok {
			e.visitMarked(child)
		}
	}
	if apps := e.marked[q]; len(apps) > 0 {
		slices.SortFunc(apps, objects.CompareApplications)
		for _, a := range apps {
			e.visit(a)
		}
	}
}

// visit yields the groups of a, and settles it if it can be.
func (e *groupEvaluation) visit(a *objects.Application) {
	a.Unsettled = false
	if !independent(a) {
		e.changes.unsettleApplication(a)
	}
	groups := a.PendingGroups()
	e.yielded += len(groups)
	for _, group := range groups {
		e.yield(group)
	}
}
