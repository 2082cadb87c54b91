package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// MayBecome says what keeps the partition from a new configuration; nil: nothing. It
// changes nothing. A leaf with applications cannot become a parent, nor a parent with
// queues that still hold work a leaf: the applications would be stranded (upstream they
// are, behaviour.md 1.7.8). Every queue in the way is named, with its applications, up to
// a bound. Requires: conf came from configs.Load and has the partition's name.
func (p *Partition) MayBecome(conf configs.Partition) error {
	clashes := clashesBelow(p.root, conf.Root, nil)
	if len(clashes) == 0 {
		return nil
	}
	named := clashes[:min(len(clashes), mostNamed)]
	if more := len(clashes) - len(named); more > 0 {
		named = append(slices.Clip(named), fmt.Sprintf("and %d more queues", more))
	}
	return fmt.Errorf("%w: %s", ErrQueueType, strings.Join(named, "; "))
}

// mostNamed is how many queues, and how many applications of each, a refusal names.
const mostNamed = 10

// clashesBelow is what is wrong at q and below it, in the order of the document.
func clashesBelow(q *Queue, conf configs.Queue, found []string) []string {
	if q.Leaf() == conf.Parent {
		was, wanted := "parent", "a leaf"
		if conf.Parent {
			was, wanted = "leaf", "a parent"
		}
		if n, ids := holders(q, 0, nil); n > 0 {
			found = append(found, fmt.Sprintf("%s %s cannot become %s: it holds %s", was, q.path, wanted, listApps(n, ids)))
		}
	}
	for _, c := range conf.Children {
		if child, ok := q.byName[c.Name]; ok {
			found = clashesBelow(child, c, found)
		}
	}
	return found
}

// holders counts the applications in q and below it, and lists the first of them, queue
// by queue.
func holders(q *Queue, n int, ids []AppID) (int, []AppID) {
	n += len(q.byID)
	if len(q.byID) > 0 && len(ids) < mostNamed {
		for _, a := range q.Applications() {
			if ids = append(ids, a.id); len(ids) == mostNamed {
				break
			}
		}
	}
	for _, c := range q.Children() {
		n, ids = holders(c, n, ids)
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

// Reconfigure puts a new configuration in force, all of it or, when MayBecome has an
// objection, none of it (behaviour.md 1.7). Queues that are not in it any more drain:
// they take no new application, and go when they are empty. A dynamic queue that it names
// is managed from now on; when a later configuration leaves it out again, it is the
// dynamic queue that it was. So going to another configuration and back leaves no trace.
// Requires: as MayBecome.
func (p *Partition) Reconfigure(conf configs.Partition) error {
	if err := p.MayBecome(conf); err != nil {
		return err
	}
	p.names.Keep() // accounts and the order of nodes have the old numbers until they stand anew
	defer p.names.Sweep()
	others := !p.conf.Budgets.Equal(conf.Budgets)
	p.conf = conf
	p.rules++
	if others {
		p.useBudgets()
	}
	p.Unwatch() // anything may change
	p.reconfigure(p.root, conf.Root)
	p.restand()
	p.doubtAll()
	p.remeter()
	return nil
}

func (p *Partition) reconfigure(q *Queue, conf configs.Queue) {
	if !q.managed {
		was := q.conf
		q.dynamic = &was
	}
	q.use(conf)
	restored := q.draining
	q.draining, q.managed = false, true
	if restored {
		p.noteQueue(q, QueueRestored)
	}
	p.intern(q)
	for _, c := range conf.Children {
		if child, ok := q.byName[c.Name]; ok {
			p.reconfigure(child, c)
		} else {
			p.grow(c, q, true)
		}
	}
	if len(q.byName) == len(conf.Children) {
		return // they are those that are wanted
	}
	wanted := make(map[string]bool, len(conf.Children))
	for _, c := range conf.Children {
		wanted[c.Name] = true
	}
	for _, child := range q.Children() {
		if child.managed && !wanted[child.conf.Name] {
			p.drain(child)
		}
	}
}

// drain takes q and the managed queues below it out of the configuration: what is empty
// goes at once, what was dynamic is so again, and the rest takes nothing new.
func (p *Partition) drain(q *Queue) {
	for _, c := range q.Children() {
		if c.managed {
			p.drain(c)
		}
	}
	was := q.draining
	if d := q.dynamic; d != nil && q.mayBe(*d) {
		q.use(*d)
		q.dynamic, q.managed = nil, false
		p.intern(q)
	} else {
		q.draining = true
	}
	if p.prune(q); q.draining && !was && p.queues[q.path] == q {
		p.noteQueue(q, QueueDraining)
	}
}

func holdsWork(q *Queue) bool {
	return len(q.byID) > 0 || slices.ContainsFunc(q.Children(), holdsWork)
}

// mayBe reports whether q holds nothing that a queue of the kind of conf cannot hold.
func (q *Queue) mayBe(conf configs.Queue) bool {
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
		if above.dynamic != nil && !holdsWork(above) {
			above.dynamic = nil
		}
	}
	for q.parent != nil && (q.draining || !q.managed) && q.empty() {
		delete(q.parent.byName, q.conf.Name)
		delete(p.queues, q.path)
		p.queueList.remove(q)
		p.changedQueue(q)
		p.releaseNames(q)
		p.noteQueue(q, QueueRemoved)
		q = q.parent
	}
}
