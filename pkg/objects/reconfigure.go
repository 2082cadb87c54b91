package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// CheckReconfigure says what keeps the partition from a new configuration; nil: nothing. It
// changes nothing. A leaf with applications cannot become a parent, nor a parent with
// queues that still hold work a leaf: the applications would be stranded (upstream they
// are, behaviour.md 1.7.8). Every queue in the way is named, with its applications, up to
// a bound. prepared is what the configuration has otherwise than the one in force, if that
// is known; nil: it is found out. Requires: conf came from configs.Load and has the
// partition's name.
func (p *Partition) CheckReconfigure(conf configs.Partition, prepared *Difference) error {
	return p.queueTypeError(p.differenceTo(conf, prepared))
}

func (p *Partition) queueTypeError(d *Difference) error {
	clashes := typeClashesIn(p.root, &d.root, nil)
	if len(clashes) == 0 {
		return nil
	}
	named := clashes[:min(len(clashes), maxNamed)]
	if more := len(clashes) - len(named); more > 0 {
		named = append(slices.Clip(named), fmt.Sprintf("and %d more queues", more))
	}
	return fmt.Errorf("%w: %s", ErrQueueType, strings.Join(named, "; "))
}

// maxNamed is how many queues, and how many applications of each, a refusal names.
const maxNamed = 10

// typeClashesIn is what is wrong at q and below it, in the order of the document. Where nothing
// differs, nothing is wrong: a queue of the configuration in force is of the kind that it says.
func typeClashesIn(q *Queue, d *queueDifference, found []string) []string {
	switch {
	case d.conf == nil || !d.kindChanges: // what is gone drains, whatever it holds
		return found
	case d.added: // it may be there all the same: created on request, or draining
		return typeClashesBelow(q, d.conf, found)
	case d.ownSettings:
		found = typeClashesAt(q, d.conf, found)
	}
	for i := range d.children {
		if child, ok := q.byName[d.children[i].name]; ok {
			found = typeClashesIn(child, &d.children[i], found)
		}
	}
	return found
}

// typeClashesBelow is what is wrong at q and below it, as far as conf goes.
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

// applicationsBelow counts the applications in q and below it, and lists the first of them, queue
// by queue.
func applicationsBelow(q *Queue, n int, ids []AppID) (int, []AppID) {
	n += len(q.byID)
	if len(q.byID) > 0 && len(ids) < maxNamed {
		for _, a := range q.Applications() {
			if ids = append(ids, a.id); len(ids) == maxNamed {
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

// Reconfigure puts a new configuration in force, all of it or, when CheckReconfigure has an
// objection, none of it (behaviour.md 1.7). Queues that are not in it any more drain:
// they take no new application, and go when they are empty. A dynamic queue that it names
// is managed from now on; when a later configuration leaves it out again, it is the
// dynamic queue that it was. So going to another configuration and back leaves no trace.
//
// It takes as long as there are queues that change, with what depends on them, however many
// stay as they are (ADR 44): what is done is the same whether prepared is given or not.
// Requires: as CheckReconfigure.
func (p *Partition) Reconfigure(conf configs.Partition, prepared *Difference) error {
	d := p.differenceTo(conf, prepared)
	if err := p.queueTypeError(d); err != nil {
		return err
	}
	p.names.PinNumbers() // accounts and the order of nodes have the old numbers until they stand anew
	defer p.names.UnpinNumbers()
	budgetsChanged := !p.conf.Budgets.Equal(conf.Budgets)
	p.conf = conf
	p.configGeneration++
	p.preemptionGeneration++
	if budgetsChanged {
		p.applyBudgets()
	}
	r := reload{p: p, visited: make([]visitedQueue, 0, d.root.size)}
	r.applyDifference(p.root, &d.root)
	r.finish(d.global)
	return nil
}

func holdsWork(q *Queue) bool {
	return len(q.byID) > 0 || slices.ContainsFunc(q.Children(), holdsWork)
}

// canBecome reports whether q holds nothing that a queue of the kind of conf cannot hold.
func (q *Queue) canBecome(conf configs.Queue) bool {
	if conf.Parent {
		return len(q.byID) == 0
	}
	return len(q.byName) == 0
}

// prune removes q if it is empty and either drains or was created on request, and then
// its parent likewise. A queue of the configuration in which the last work has ended
// forgets that it was dynamic: had it stayed that, it would be gone now.
func (p *Partition) prune(q *Queue) {
	for above := q; above != nil; above = above.parent {
		if above.formerDynamic != nil && !holdsWork(above) {
			above.formerDynamic = nil
		}
	}
	for q.parent != nil && (q.draining || !q.managed) && q.empty() {
		delete(q.parent.byName, q.conf.Name)
		delete(p.queues, q.path)
		p.queueList.remove(q)
		q.removed = true
		p.recordQueueChange(q)
		p.releaseNames(q.heldNames())
		p.countSettings(q, -1)
		p.noteQueueChange(q, QueueRemoved)
		q = q.parent
	}
}
