package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// reload is the state of a Reconfigure call. First every queue that differs gets its settings; then
// what depends on them is updated, from the lowest queues up, each queue once.
type reload struct {
	p       *Partition
	visited []visitedQueue // queues that existed and have changed, and all above them; each behind its parent
	built   []*Queue       // the topmost queues of the new ones

	templatesChanged []*Queue // with another child template, or another rule about whom it reaches

	limitsChanged      bool     // of users and groups, in queues with applications
	classQuotasChanged bool     // in queues with applications
	mayPreemptChanged  []*Queue // parents below which asks may, or may no longer, preempt

	fairMaxParent *Queue                 // the queue of fairMax
	fairMax       resources.Denominators // fair max of the queues below fairMaxParent
	lastMeasured  *Queue                 // the last queue whose denominators, and those below it, were updated
}

// visitedQueue is a queue, and its state before the reload.
type visitedQueue struct {
	queue           *Queue
	exposedPriority policies.CurrentPriority // current priority
	changed         bool                     // its settings changed
	reorder         bool                     // the order of its members changed
	sharesChanged   bool                     // its max or its guarantee changed
}

// applyDifference applies the settings of d to q and the queues below it.
func (r *reload) applyDifference(q *Queue, d *configs.QueueDifference) {
	at := r.visit(q)
	if d.OwnSettings {
		r.changeSettings(at, d.Conf, true)
	}
	for i := range d.Children {
		switch d := &d.Children[i]; {
		case d.Conf == nil:
			r.drainQueue(q.byName[d.Name])
		case d.Added:
			r.addQueue(q, d.Conf)
		default:
			r.applyDifference(q.byName[d.Name], d)
		}
	}
}

// visit adds q to the visited queues, unless it is one, and returns its index there.
func (r *reload) visit(q *Queue) (at int) {
	if at := int(q.visitedAt); at < len(r.visited) && r.visited[at].queue == q {
		return at
	}
	q.visitedAt = int32(len(r.visited))
	r.visited = append(r.visited, visitedQueue{queue: q, exposedPriority: q.CurrentPriority()})
	return len(r.visited) - 1
}

// addQueue adds a queue to the configuration. A dynamic or draining queue of that path is managed
// from now on, and its applications stay (QUE-31, QUE-39).
func (r *reload) addQueue(parent *Queue, conf *configs.Queue) {
	q := parent.byName[conf.Name]
	if q == nil {
		r.built = append(r.built, r.p.buildQueue(*conf, parent, true))
		return
	}
	r.changeSettings(r.visit(q), conf, true)
	wanted := make(map[string]bool, len(conf.Children))
	for i := range conf.Children {
		wanted[conf.Children[i].Name] = true
		r.addQueue(q, &conf.Children[i])
	}
	for _, child := range q.Children() {
		if child.managed && !wanted[child.conf.Name] {
			r.drainQueue(child)
		}
	}
}

// drainQueue removes q and the managed queues below it from the configuration: an empty queue is
// removed (QUE-34), a formerly dynamic one is dynamic again (QUE-32), any other drains (QUE-33).
func (r *reload) drainQueue(q *Queue) {
	at := r.visit(q)
	for _, c := range q.Children() {
		if c.managed {
			r.drainQueue(c)
		}
	}
	was := q.draining
	if q.canBeDynamic() {
		conf := q.dynamicConf()
		r.changeSettings(at, &conf, false)
	} else {
		q.draining = true
		r.visited[at].changed = true
		r.p.journal.post(Change{Kind: QueueChanged, Queue: q})
	}
	r.p.Prune(q)
	if q.draining && !was && !q.removed {
		r.p.journal.post(Change{Kind: QueueStateChanged, Queue: q, To: QueueDraining})
	}
}

// changeSettings applies conf to the visited queue at index at.
func (r *reload) changeSettings(at int, conf *configs.Queue, managed bool) {
	m, p := &r.visited[at], r.p
	q := m.queue
	guaranteeChanged := !q.conf.Guaranteed.Equal(conf.Guaranteed)
	m.changed = true
	m.sharesChanged = m.sharesChanged || guaranteeChanged || !q.conf.Max.Equal(conf.Max)
	if q.conf.Guaranteed.IsEmpty() != conf.Guaranteed.IsEmpty() || q.conf.PreemptionPolicy != conf.PreemptionPolicy ||
		q.conf.FairShare != conf.FairShare {
		r.mayPreemptChanged = append(r.mayPreemptChanged, q)
	}
	r.limitsChanged = r.limitsChanged || !configs.SameList(q.conf.Limits, conf.Limits) && hasApplications(q)
	r.classQuotasChanged = r.classQuotasChanged || !configs.SameList(q.conf.ClassQuotas, conf.ClassQuotas) &&
		hasApplications(q)
	before := q.policy
	if !q.conf.ChildTemplate.Equal(conf.ChildTemplate) || q.conf.UpdatesLeaves != conf.UpdatesLeaves {
		r.templatesChanged = append(r.templatesChanged, q)
	}
	runTime := q.conf.RunTime
	q.setConf(conf)
	q.managed = managed
	if managed && q.draining {
		q.draining = false
		p.journal.post(Change{Kind: QueueStateChanged, Queue: q, To: QueueRestored})
	}
	p.internNames(q)
	p.journal.post(Change{Kind: QueueSettingsChanged, Queue: q})
	if q.conf.RunTime != runTime {
		p.journal.post(Change{Kind: RunTimesChanged, Queue: q})
	}
	m.reorder = m.reorder || before.leaf != q.policy.leaf || before.sort != q.policy.sort ||
		before.prioritySort != q.policy.prioritySort || before.overTime != q.policy.overTime ||
		q.policy.sort == policies.Fair && guaranteeChanged
	if m.reorder {
		q.clearOrdering(before.sort, &p.deadlines.ramping)
	}
}

// updateLeaves updates the queues below q that have no child template of their own, and so that of q, which has changed
// (QUE-23). They may not be in the configuration, and have no difference of their own. Dynamic leaves get the settings
// of the template if it reaches existing ones (QUE-24).
func (r *reload) updateLeaves(q *Queue) {
	for _, c := range q.Children() {
		switch {
		case c.Leaf() && !c.managed:
			if conf := c.dynamicConf(); !c.conf.SameSettings(&conf) {
				r.changeSettings(r.visit(c), &conf, false)
			}
		case !c.Leaf() && c.conf.ChildTemplate == nil:
			r.visit(c)
			r.p.journal.post(Change{Kind: QueueChanged, Queue: c})
			r.updateLeaves(c)
		}
	}
}

// finish updates what depends on settings. global: everything may have changed.
func (r *reload) finish(global bool) {
	p := r.p
	if global || r.limitsChanged || p.quotas.MaxApplicationsOutdated() {
		for _, q := range p.queues {
			p.applySettings(q)
			p.journal.post(Change{Kind: QueueSettingsChanged, Queue: q})
		}
		p.rebuildOrdering()
		p.rebuildClassUsage()
		p.journal.post(Change{Kind: SettingsApplied})
		return
	}
	for _, q := range r.mayPreemptChanged {
		r.refreshMayPreempt(q)
	}
	r.refreshDenominators()
	for _, m := range slices.Backward(r.visited) {
		if !m.queue.removed { // a removed queue had nothing
			r.reindex(m)
		}
	}
	p.journal.post(Change{Kind: SettingsApplied})
	if r.classQuotasChanged {
		p.rebuildClassUsage()
	} else {
		p.quotas.ApplyClassQuotas(p.conf.ClassesNeedingQuota)
	}
}

// refreshDenominators updates the denominators of fair shares in the queues whose max or guarantee
// changed, and below them.
func (r *reload) refreshDenominators() {
	p := r.p
	p.journal.order.sharesStale = p.journal.order.sharesStale || p.journal.order.namesGivenAtRefresh != p.names.Assigned()
	if p.journal.order.sharesStale {
		return // RefreshShares updates all
	}
	for i := range r.visited {
		if m := &r.visited[i]; m.sharesChanged {
			r.refreshDenominatorsFrom(m.queue)
		}
	}
	for _, q := range r.built {
		r.refreshDenominatorsFrom(q)
	}
}

func (r *reload) refreshDenominatorsFrom(q *Queue) {
	p := r.p
	switch {
	case r.lastMeasured != nil && len(r.lastMeasured.byName) > 0 && r.lastMeasured.IsSelfOrAncestorOf(q), q.removed:
		return
	case q.parent == nil:
		p.journal.order.setShareDenominators(q, p.journal.order.clusterFairMax())
	default:
		if r.fairMaxParent != q.parent {
			r.fairMaxParent, r.fairMax = q.parent, p.journal.order.fairMaxBelow(q.parent)
		}
		p.journal.order.setShareDenominators(q, r.fairMax)
		if !q.entry.Indexed() { // an indexed queue gets its key when it is reindexed: one member of an index at a time
			q.key.Share = q.Share()
		}
	}
	r.lastMeasured = q
}

// reindex updates the position of a queue. Requires: the changed queues below it are reindexed.
func (r *reload) reindex(m visitedQueue) {
	p, q := r.p, m.queue
	if m.changed {
		if len(q.byID) > 0 { // starting an iteration of an empty map costs more than the comparison
			for _, a := range q.byID {
				p.journal.post(Change{Kind: MayPreemptChanged, App: a})
			}
		}
	}
	if m.reorder {
		q.rebuildMembers(&p.deadlines.ramping, p.conf.PriorityDisabled)
	}
	if q.parent == nil {
		return
	}
	if now := q.CurrentPriority(); now != m.exposedPriority {
		q.parent.priorities.Remove(m.exposedPriority)
		q.parent.priorities.Add(now)
	}
	q.reindexInParent()
}

// clearOrdering removes all members from the orders of q, which rebuildMembers then builds with
// another order. sort is the former order of its applications, some of which may be in r.
func (q *Queue) clearOrdering(sort policies.AppSort, r *ramping) {
	q.children.Fill(nil)
	q.apps.Fill(nil)
	q.clearStarting()
	for _, c := range q.byName {
		c.entry.Reset()
	}
	for _, a := range q.byID {
		a.entry.Reset()
		a.resetStarting()
		if sort == policies.StateAware {
			r.remove(a)
		}
	}
}

// refreshMayPreempt updates which leaves at and below q let their asks preempt.
func (r *reload) refreshMayPreempt(q *Queue) {
	q.updatePolicy(&r.p.conf)
	if q.policy.mayPreempt {
		for _, a := range q.byID {
			r.p.journal.post(Change{Kind: MayPreemptChanged, App: a})
		}
	}
	for _, c := range q.byName {
		r.refreshMayPreempt(c)
	}
}
