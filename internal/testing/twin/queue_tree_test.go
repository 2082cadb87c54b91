package twin

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// useConfig rebuilds the tree. Queues that the configuration does not have drain.
func (t *Twin) useConfig(conf configs.Partition) {
	if t.root != nil && t.changesQueueKind(t.root, &conf.Root) {
		t.refuse("configuration", "a queue with applications cannot change between leaf and parent")
		return
	}
	t.order, t.rules, t.draining, t.preemption, t.quotaPreemption = conf.NodeSortPolicy, conf.PlacementRules, false,
		conf.PreemptionEnabled, conf.QuotaPreemptionEnabled
	t.budgets = conf.Budgets.All()
	t.needQuota = conf.ClassesNeedingQuota
	t.nodePressure, t.nodePressureGrace = conf.NodePressureEnabled, conf.NodePressureGrace
	t.nominationTimeout = conf.NominationTimeout
	t.cycles.configured = conf.Churn
	t.reservation, t.noderefusal = conf.Reservation, conf.NodeRefusal
	t.ignorePriority, t.configuredWeights = conf.PriorityDisabled, conf.FairnessWeights
	t.root = t.mergeQueue(t.root, &conf.Root, objects.RootPath)
	t.configureDynamic([]*queue{t.root})
	t.prune(t.root)
	t.followNodes()
}

// changesQueueKind reports whether q, or a queue below it, would change between leaf and parent while
// it has applications.
func (t *Twin) changesQueueKind(q *queue, conf *configs.Queue) bool {
	if q.conf.Parent != conf.Parent && t.inUse(q) {
		return true
	}
	return slices.ContainsFunc(conf.Children, func(c configs.Queue) bool {
		child := find(q.children, func(x *queue) bool { return x.path == q.path.Child(c.Name) })
		return child != nil && t.changesQueueKind(child, &c)
	})
}

// inUse reports whether q or a queue below it has applications.
func (t *Twin) inUse(q *queue) bool {
	return slices.ContainsFunc(t.apps, func(a *app) bool { return q.contains(a.leaf) })
}

// mergeQueue returns the queue of conf, with those children of the old queue that conf does not have.
func (t *Twin) mergeQueue(old *queue, conf *configs.Queue, path objects.QueuePath) *queue {
	q := &queue{path: path, conf: *conf, managed: true}
	var vanished []*queue
	if old != nil {
		vanished = slices.Clone(old.children)
		q.dynamic = old.dynamic
	}
	for i := range conf.Children {
		at := path.Child(conf.Children[i].Name)
		was := find(vanished, func(x *queue) bool { return x.path == at })
		vanished = slices.DeleteFunc(vanished, func(x *queue) bool { return x == was })
		q.children = append(q.children, t.mergeQueue(was, &conf.Children[i], at))
	}
	for _, v := range vanished {
		t.drainQueue(v)
		q.children = append(q.children, v)
	}
	return q
}

// drainQueue drains a managed queue and those below it. Dynamic queues do not drain (QUE-37), also if a
// configuration had them in the meantime.
func (t *Twin) drainQueue(q *queue) {
	if !q.managed {
		return
	}
	stays := false // a queue below
	for _, child := range q.children {
		t.drainQueue(child)
		stays = stays || t.inUse(child)
	}
	here := slices.ContainsFunc(t.apps, func(a *app) bool { return a.leaf == q.path })
	if q.dynamic != nil && (q.dynamic.parent && !here || !q.dynamic.parent && !stays) {
		q.managed = false
		return
	}
	q.draining = true
}

// configureDynamic gives the dynamic queues below the last queue of a path the settings that they have (QUE-24).
func (t *Twin) configureDynamic(path []*queue) {
	for _, q := range path[len(path)-1].children {
		if !q.managed {
			q.conf = dynamicConf(q, path)
		}
		t.configureDynamic(append(slices.Clone(path), q))
	}
}

// dynamicConf returns the settings of a dynamic queue below the queues of a path.
func dynamicConf(q *queue, above []*queue) configs.Queue {
	parts := q.path.Parts()
	conf := configs.Queue{Name: parts[len(parts)-1], Parent: q.dynamic.parent}
	conf.PreemptionDelay = 30 * time.Second // the default (PRE-15)
	if q.dynamic.parent || q.path == placement.RecoveryQueue {
		return conf
	}
	template, updates := q.dynamic.template, false
	for _, a := range above {
		if a.managed {
			updates = a.conf.UpdatesLeaves
		}
	}
	if updates {
		template = templateFor(above)
	}
	if template != nil {
		conf.Max, conf.Guaranteed, conf.Settings, conf.MaxApplications = template.Max, template.Guaranteed, template.Settings,
			template.MaxApplications
	}
	if tags := q.dynamic.tags; tags.Max != nil {
		conf.Max = *tags.Max
	}
	if tags := q.dynamic.tags; tags.Guaranteed != nil {
		conf.Guaranteed = *tags.Guaranteed
	}
	if tags := q.dynamic.tags; tags.MaxApplications > 0 {
		conf.MaxApplications = tags.MaxApplications
	}
	return conf
}

// prune removes empty queues that are draining or dynamic, from the bottom up.
func (t *Twin) prune(q *queue) {
	q.children = slices.DeleteFunc(q.children, func(child *queue) bool {
		t.prune(child)
		if !t.inUse(child) {
			child.dynamic = nil // as a dynamic queue it would be removed
		}
		return (child.draining || !child.managed) && !t.inUse(child)
	})
}

func (t *Twin) forget() {
	t.keepStarts()
	t.expectBack()
	t.nodes, t.apps, t.allocations, t.foreign, t.completed, t.rejected = nil, nil, nil, nil, nil, nil
	t.nominees, t.cycles = nil, cycleDetector{configured: t.cycles.configured}
	t.refusals = nil
	t.forgetUsage()
	t.reserving, t.nextReservations = nil, time.Time{}
	t.forgetNodes()
	clear(t.reservationRefused)
	t.prune(t.root)
	t.lastQueueStates = t.queueStates() // removed queues have no further changes
	t.emit(scheduler.PartitionReset{})
}
