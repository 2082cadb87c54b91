package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// useConfig makes the tree anew. What the configuration does not name any more drains.
func (t *Twin) useConfig(conf configs.Partition) {
	if t.root != nil && t.clashes(t.root, &conf.Root) {
		t.refuse("configuration", "a queue with applications cannot change between leaf and parent")
		return
	}
	t.order, t.rules, t.drains, t.preemption, t.lowers = conf.Nodes, conf.Rules, false, conf.Preemption, conf.QuotaPreemption
	t.budgets = conf.Budgets.All()
	t.needQuota = conf.NeedQuota
	t.pressure = conf.NodePressure
	t.patience = conf.NominationTimeout
	t.churn.wanted = conf.Churn
	t.even = conf.IgnorePriority
	t.root = t.merged(t.root, &conf.Root, objects.RootPath)
	t.prune(t.root)
}

// clashes reports whether q, or a queue below it, would have to change its kind while
// applications are in it.
func (t *Twin) clashes(q *queue, conf *configs.Queue) bool {
	if q.conf.Parent != conf.Parent && t.inUse(q) {
		return true
	}
	return slices.ContainsFunc(conf.Children, func(c configs.Queue) bool {
		child := find(q.children, func(x *queue) bool { return x.path == q.path.Child(c.Name) })
		return child != nil && t.clashes(child, &c)
	})
}

// inUse reports whether q or a queue below it has applications.
func (t *Twin) inUse(q *queue) bool {
	return slices.ContainsFunc(t.apps, func(a *app) bool { return q.within(a.leaf) })
}

// merged is the queue that conf describes, with those children of the old one that
// conf leaves out.
func (t *Twin) merged(old *queue, conf *configs.Queue, path objects.QueuePath) *queue {
	q := &queue{path: path, conf: *conf, managed: true}
	var vanished []*queue
	if old != nil {
		vanished = slices.Clone(old.children)
		if q.once = old.once; !old.managed {
			q.once = &old.conf
		}
	}
	for i := range conf.Children {
		at := path.Child(conf.Children[i].Name)
		was := find(vanished, func(x *queue) bool { return x.path == at })
		vanished = slices.DeleteFunc(vanished, func(x *queue) bool { return x == was })
		q.children = append(q.children, t.merged(was, &conf.Children[i], at))
	}
	for _, v := range vanished {
		t.drain(v)
		q.children = append(q.children, v)
	}
	return q
}

// drain closes a queue that the configuration made, with those below it. What was made
// for applications stays open (sheet 3.6), also when a configuration named it meanwhile.
func (t *Twin) drain(q *queue) {
	if !q.managed {
		return
	}
	stays := false // something below
	for _, child := range q.children {
		t.drain(child)
		stays = stays || t.inUse(child)
	}
	here := slices.ContainsFunc(t.apps, func(a *app) bool { return a.leaf == q.path })
	if q.once != nil && (q.once.Parent && !here || !q.once.Parent && !stays) {
		q.conf, q.once, q.managed = *q.once, nil, false
		return
	}
	q.draining = true
}

// prune drops the queues that hold nothing and that nobody wants any more, from the
// bottom up.
func (t *Twin) prune(q *queue) {
	q.children = slices.DeleteFunc(q.children, func(child *queue) bool {
		t.prune(child)
		if !t.inUse(child) {
			child.once = nil // as what it was it would be gone
		}
		return (child.draining || !child.managed) && !t.inUse(child)
	})
}

func (t *Twin) forget() {
	t.nodes, t.apps, t.work, t.foreign, t.completed, t.rejected = nil, nil, nil, nil, nil, nil
	t.nominees, t.churn = nil, churn{wanted: t.churn.wanted}
	t.prune(t.root)
	t.seenQueues = t.queueStates() // of what was forgotten nothing else is said
	t.emit(scheduler.Forgotten{})
}
