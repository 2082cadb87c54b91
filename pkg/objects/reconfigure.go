package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Reconfigure puts a new configuration in force, all of it or, when an error is
// returned, none of it (behaviour.md 1.7). Queues that are not in it any more drain:
// they take no new application, and go when they are empty. Dynamic queues stay as they
// are, unless the configuration names them now. A leaf with applications
// cannot become a parent, nor a parent with queues that still hold work a leaf.
// Requires: conf came from configs.Load and has the partition's name.
func (p *Partition) Reconfigure(conf configs.Partition) error {
	if err := p.mayBecome(p.root, conf.Root); err != nil {
		return err
	}
	p.conf = conf
	p.reconfigure(p.root, conf.Root)
	p.restand()
	return nil
}

func (p *Partition) mayBecome(q *Queue, conf configs.Queue) error {
	switch {
	case q.Leaf() && conf.Parent && len(q.byID) > 0:
		return fmt.Errorf("%w: leaf %s holds applications (%d) and cannot become a parent", ErrQueueType, q.path, len(q.byID))
	case !q.Leaf() && !conf.Parent && holdsWork(q):
		return fmt.Errorf("%w: parent %s has queues with applications and cannot become a leaf", ErrQueueType, q.path)
	}
	for _, c := range conf.Children {
		if child, ok := q.byName[c.Name]; ok {
			if err := p.mayBecome(child, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func holdsWork(q *Queue) bool {
	return len(q.byID) > 0 || slices.ContainsFunc(q.Children(), holdsWork)
}

func (p *Partition) reconfigure(q *Queue, conf configs.Queue) {
	q.use(conf)
	q.draining, q.managed = false, true
	p.intern(q)
	wanted := map[string]bool{}
	for _, c := range conf.Children {
		wanted[c.Name] = true
		if child, ok := q.byName[c.Name]; ok {
			p.reconfigure(child, c)
		} else {
			p.grow(c, q)
		}
	}
	for _, child := range q.Children() {
		if child.managed && !wanted[child.conf.Name] {
			p.drain(child)
		}
	}
}

// drain marks q and the managed queues below it, and removes at once what is empty.
func (p *Partition) drain(q *Queue) {
	q.draining = true
	for _, c := range q.Children() {
		if c.managed {
			p.drain(c)
		}
	}
	p.prune(q)
}

// prune removes q if it is empty and either drains or was created on request, and then
// its parent likewise.
func (p *Partition) prune(q *Queue) {
	for q.parent != nil && (q.draining || !q.managed) && q.empty() {
		delete(q.parent.byName, q.conf.Name)
		delete(p.queues, q.path)
		q = q.parent
	}
}
