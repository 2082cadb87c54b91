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
// a bound. prepared is what the configuration has otherwise than the one in force, if that
// is known; nil: it is found out. Requires: conf came from configs.Load and has the
// partition's name.
func (p *Partition) MayBecome(conf configs.Partition, prepared *Difference) error {
	return p.mayBecome(p.differenceTo(conf, prepared))
}

func (p *Partition) mayBecome(d *Difference) error {
	clashes := clashesIn(p.root, &d.root, nil)
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

// clashesIn is what is wrong at q and below it, in the order of the document. Where nothing
// differs, nothing is wrong: a queue of the configuration in force is of the kind that it says.
func clashesIn(q *Queue, d *difference, found []string) []string {
	switch {
	case d.conf == nil || !d.kind: // what is gone drains, whatever it holds
		return found
	case d.added: // it may be there all the same: created on request, or draining
		return clashesBelow(q, d.conf, found)
	case d.own:
		found = clashesAt(q, d.conf, found)
	}
	for i := range d.below {
		if child, ok := q.byName[d.below[i].name]; ok {
			found = clashesIn(child, &d.below[i], found)
		}
	}
	return found
}

// clashesBelow is what is wrong at q and below it, as far as conf goes.
func clashesBelow(q *Queue, conf *configs.Queue, found []string) []string {
	found = clashesAt(q, conf, found)
	for i := range conf.Children {
		if child, ok := q.byName[conf.Children[i].Name]; ok {
			found = clashesBelow(child, &conf.Children[i], found)
		}
	}
	return found
}

func clashesAt(q *Queue, conf *configs.Queue, found []string) []string {
	if q.Leaf() == conf.Parent {
		was, wanted := "parent", "a leaf"
		if conf.Parent {
			was, wanted = "leaf", "a parent"
		}
		if n, ids := holders(q, 0, nil); n > 0 {
			found = append(found, fmt.Sprintf("%s %s cannot become %s: it holds %s", was, q.path, wanted, listApps(n, ids)))
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
//
// It takes as long as there are queues that change, with what depends on them, however many
// stay as they are (ADR 44): what is done is the same whether prepared is given or not.
// Requires: as MayBecome.
func (p *Partition) Reconfigure(conf configs.Partition, prepared *Difference) error {
	d := p.differenceTo(conf, prepared)
	if err := p.mayBecome(d); err != nil {
		return err
	}
	p.names.Keep() // accounts and the order of nodes have the old numbers until they stand anew
	defer p.names.Sweep()
	others := !p.conf.Budgets.Equal(conf.Budgets)
	p.conf = conf
	p.rules++
	p.changes++
	if others {
		p.useBudgets()
	}
	r := reload{p: p, met: make([]met, 0, d.root.size)}
	r.follow(p.root, &d.root)
	r.finish(d.far)
	return nil
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
		q.gone = true
		p.changedQueue(q)
		p.release(q.holds())
		p.countSettings(q, -1)
		p.noteQueue(q, QueueRemoved)
		q = q.parent
	}
}
