package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// CheckReconfigure is the error with which Reconfigure would refuse conf; nil: none. It changes
// nothing. A leaf with applications cannot become a parent, nor a parent with applications below it
// a leaf (CFG-103). The error names the queues and their applications, up to maxNamed. prepared is
// the difference to the configuration in force, or nil. Requires: conf is from queuesyaml.Load and has
// the name of the partition.
func (p *Partition) CheckReconfigure(conf configs.Partition, prepared *configs.Difference) error {
	return queueTypeError(prepared.OrNew(p.conf, conf), p.root)
}

func queueTypeError(d *configs.Difference, root *Queue) error {
	clashes := typeClashesIn(root, &d.Root, nil)
	if len(clashes) == 0 {
		return nil
	}
	named := clashes[:min(len(clashes), maxNamed)]
	if more := len(clashes) - len(named); more > 0 {
		named = append(slices.Clip(named), fmt.Sprintf("and %d more queues", more))
	}
	return fmt.Errorf("%w: %s", ErrQueueType, strings.Join(named, "; "))
}

// maxNamed bounds the queues, and the applications of each, that an error names.
const maxNamed = 10

// typeClashesIn appends the type clashes at and below q, in the order of the configuration. There
// is none where nothing differs: a configured queue has its configured type.
func typeClashesIn(q *Queue, d *configs.QueueDifference, found []string) []string {
	switch {
	case d.Conf == nil || !d.TypeChanges: // a removed queue drains, whatever it holds
		return found
	case d.Added: // it may exist as a dynamic or a draining queue
		return typeClashesBelow(q, d.Conf, found)
	case d.OwnSettings:
		found = typeClashesAt(q, d.Conf, found)
	}
	for i := range d.Children {
		if child, ok := q.byName[d.Children[i].Name]; ok {
			found = typeClashesIn(child, &d.Children[i], found)
		}
	}
	return found
}

// typeClashesBelow appends the type clashes of q and the queues below it that conf has.
func typeClashesBelow(q *Queue, conf *configs.Queue, found []string) []string {
	found = typeClashesAt(q, conf, found)
	for i := range conf.Children {
		if child, ok := q.byName[conf.Children[i].Name]; ok {
			found = typeClashesBelow(child, &conf.Children[i], found)
		}
	}
	return found
}

func typeClashesAt(q *Queue, conf *configs.Queue, found []string) []string {
	if q.Leaf() == conf.Parent {
		was, wanted := "parent", "a leaf"
		if conf.Parent {
			was, wanted = "leaf", "a parent"
		}
		if n, ids := applicationsBelow(q, 0, nil); n > 0 {
			found = append(found, fmt.Sprintf("%s %s cannot become %s: it holds %s", was, q.path, wanted, listApps(n, ids)))
		}
	}
	return found
}

// applicationsBelow counts the applications in and below q, and lists the first of them, by queue.
func applicationsBelow(q *Queue, n int, ids []AppID) (int, []AppID) {
	n += len(q.byID)
	if len(q.byID) > 0 && len(ids) < maxNamed {
		for _, a := range q.Applications() {
			ids = append(ids, a.ID())
			if len(ids) == maxNamed {
				break
			}
		}
	}
	for _, c := range q.Children() {
		n, ids = applicationsBelow(c, n, ids)
	}
	return n, ids
}

func listApps(n int, ids []AppID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	list := strings.Join(words, ", ")
	switch {
	case n == 1:
		return "application " + list
	case n > len(ids):
		return fmt.Sprintf("%d applications: %s and %d more", n, list, n-len(ids))
	}
	return fmt.Sprintf("%d applications: %s", n, list)
}

// Reconfigure applies a new configuration, or refuses it with the error of CheckReconfigure
// (CFG-102). Queues that are not in it drain (QUE-33) or, if they were dynamic before, are dynamic
// again (QUE-32). A dynamic queue that it names is managed from then on (QUE-31). So another
// configuration and then the former one restore the former state (CFG-109).
//
// The time grows with the queues that change and what depends on them, not with those that stay
// (ADR 44, CFG-107). The result does not depend on prepared. Requires: as CheckReconfigure.
func (p *Partition) Reconfigure(conf configs.Partition, prepared *configs.Difference) error {
	d := prepared.OrNew(p.conf, conf)
	if err := queueTypeError(d, p.root); err != nil {
		return err
	}
	p.names.PinNumbers() // accounts and the node order have the old indexes until they are rebuilt
	defer p.names.UnpinNumbers()
	budgetsChanged := !p.conf.Budgets.Equal(conf.Budgets)
	p.conf = conf
	p.journal.post(Change{Kind: ConfigurationChanged})
	if budgetsChanged {
		p.applyBudgets()
	}
	r := reload{p: p, visited: make([]visitedQueue, 0, d.Root.Size)}
	r.applyDifference(p.root, &d.Root)
	for _, q := range r.templatesChanged {
		r.updateLeaves(q)
	}
	r.finish(d.Global)
	return nil
}

// hasApplications reports whether there is an application in or below q.
func hasApplications(q *Queue) bool {
	return len(q.byID) > 0 || slices.ContainsFunc(q.Children(), hasApplications)
}

// canBeDynamic reports whether q was dynamic, and can have its type of then without losing applications or queues.
func (q *Queue) canBeDynamic() bool {
	if q.dynamic == nil {
		return false
	}
	if q.dynamic.parent {
		return len(q.byID) == 0
	}
	return len(q.byName) == 0
}

// Prune removes an empty queue that is dynamic or draining, and then its parent likewise (QUE-29, QUE-38). A
// managed queue without applications forgets that it was dynamic before the configuration named it:
// had it stayed dynamic, it would be removed by now (QUE-32).
func (p *Partition) Prune(q *Queue) {
	for above := q; above != nil; above = above.parent {
		if above.managed && above.dynamic != nil && !hasApplications(above) {
			above.dynamic = nil
		}
	}
	for q.parent != nil && (q.draining || !q.managed) && q.empty() {
		delete(q.parent.byName, q.conf.Name)
		delete(p.queues, q.path)
		p.lists.queues.remove(q)
		q.removed = true
		p.journal.post(Change{Kind: QueueChanged, Queue: q})
		q.releaseNames(p.names)
		p.quotas.CountSettings(&q.quota, true)
		p.journal.post(Change{Kind: QueueStateChanged, Queue: q, To: QueueRemoved})
		q = q.parent
	}
}
