package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// EachGroupToEvaluate yields the ask groups with pending asks whose waiting states may differ from those of the last
// evaluation, whether or not they can be placed. Those of one application are together. The groups of which others may
// take quota are in selection order: the groups of an application by their first asks. Left out are the groups of a
// settled application: it is independent, and neither its asks nor the configuration have changed since. They cost
// nothing. yielded is the number of groups.
func EachGroupToEvaluate(p *Partition, yield func(*AskGroup)) (yielded int) {
	w := &p.journal.waiting
	e := groupEvaluation{changes: w, yield: yield}
	all, unsettled := !w.quotasSettled, w.takeUnsettled()
	w.quotasSettled = true
	if !all {
		unsettled = e.visitIndependent(unsettled)
	}
	if all || 4*len(unsettled) > len(p.apps) { // sorting them costs more than a walk over all
		e.walk(p.Root(), all)
	} else if len(unsettled) > 0 {
		e.mark(unsettled)
		e.visitMarked(p.Root())
	}
	return e.yielded
}

// independent reports whether the waiting states of the asks of a depend on no other application, and those of each ask
// on no other ask: no max and no limit bounds a, and it is neither in a gang nor in a StateAware leaf.
func (a *Application) independent() bool {
	return a.gang == nil && a.queue.policy.sort != policies.StateAware && a.Constraints().OnlyCapacity()
}

// groupEvaluation is one pass over ask groups with pending asks.
type groupEvaluation struct {
	changes *waitingChanges
	yield   func(*AskGroup)
	yielded int
	marked  map[*Queue][]*Application // leaves with the applications to visit there, and the queues above
	groups  []*AskGroup               // scratch
}

// visitIndependent visits the independent applications of apps, in no order, and returns the others.
func (e *groupEvaluation) visitIndependent(apps []*Application) (others []*Application) {
	return slices.DeleteFunc(apps, func(a *Application) bool {
		if !a.independent() {
			return false
		}
		a.unsettled = false
		for _, group := range a.askGroups.list {
			if !group.empty() {
				e.yielded++
				e.yield(group)
			}
		}
		return true
	})
}

// walk visits all applications with pending asks in and below q, or those that are unsettled.
func (e *groupEvaluation) walk(q *Queue, all bool) {
	for child := range q.children.All {
		e.walk(child, all)
	}
	for a := range q.apps.All {
		if all || a.unsettled {
			e.visit(a)
		}
	}
}

// mark marks the leaves of apps, and the queues above them.
func (e *groupEvaluation) mark(apps []*Application) {
	e.marked = make(map[*Queue][]*Application, 2*len(apps)) // a leaf for each, and few queues above
	slices.SortFunc(apps, func(a, b *Application) int { return int(a.queue.listIndex - b.queue.listIndex) })
	for len(apps) > 0 {
		n := slices.IndexFunc(apps, func(a *Application) bool { return a.queue != apps[0].queue })
		if n < 0 {
			n = len(apps)
		}
		e.marked[apps[0].queue] = apps[:n]
		for q := apps[0].queue.parent; q != nil; q = q.parent {
			if _, ok := e.marked[q]; ok {
				break
			}
			e.marked[q] = nil
		}
		apps = apps[n:]
	}
}

func (e *groupEvaluation) visitMarked(q *Queue) {
	for child := range q.children.All {
		if _, ok := e.marked[child]; ok {
			e.visitMarked(child)
		}
	}
	if apps := e.marked[q]; len(apps) > 0 {
		slices.SortFunc(apps, q.apps.Order.Compare)
		for _, a := range apps {
			e.visit(a)
		}
	}
}

// visit yields the groups of a, and settles it if it can be.
func (e *groupEvaluation) visit(a *Application) {
	a.unsettled = false
	if !a.independent() {
		e.changes.unsettleApplication(a)
	}
	e.groups = e.groups[:0]
	for _, group := range a.askGroups.list {
		if !group.empty() {
			e.groups = append(e.groups, group)
		}
	}
	if len(e.groups) > 1 {
		slices.SortFunc(e.groups, func(a, b *AskGroup) int {
			return policies.CompareAsks(&a.PendingAsks()[0].key, &b.PendingAsks()[0].key)
		})
	}
	e.yielded += len(e.groups)
	for _, group := range e.groups {
		e.yield(group)
	}
}
