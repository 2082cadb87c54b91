package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// reload is a Reconfigure under way. First every queue that differs gets its settings; then what
// depends on them is brought up to date, from the lowest queues up, each queue once.
type reload struct {
	p       *Partition
	visited []visitedQueue // the queues that were there and have changed, and all above them; each behind the one above it
	built   []*Queue       // the tops of what is new

	limitsChanged      bool     // limits of users and groups have changed where there are applications
	classQuotasChanged bool     // class quotas have, likewise
	mayPreemptChanged  []*Queue // parents below which the right to preempt may have changed

	fairMaxParent *Queue                 // whose fair is known
	fairMax       resources.Denominators // what a queue below parent is measured against
	lastMeasured  *Queue                 // the last queue that was measured with all that is below it
}

// visitedQueue is a queue, and how it was before the reload.
type visitedQueue struct {
	queue           *Queue
	exposedPriority policies.CurrentPriority // to its parent
	changed         bool                     // it has other settings
	reorder         bool                     // its members have another order
	sharesChanged   bool                     // its max or its guarantee has changed
}

// applyDifference gives q, and what is below it, the settings that differ.
func (r *reload) applyDifference(q *Queue, d *queueDifference) {
	at := r.visit(q)
	if d.ownSettings {
		r.changeSettings(at, d.conf, true)
	}
	for i := range d.children {
		switch d := &d.children[i]; {
		case d.conf == nil:
			r.drainQueue(q.byName[d.name])
		case d.added:
			r.addQueue(q, d.conf)
		default:
			r.applyDifference(q.byName[d.name], d)
		}
	}
}

func (r *reload) visit(q *Queue) (at int) {
	r.visited = append(r.visited, visitedQueue{queue: q, exposedPriority: q.CurrentPriority()})
	return len(r.visited) - 1
}

// addQueue puts a queue into the configuration. It may be there all the same, created on request or
// draining; then it is managed from now on, and what it holds stays.
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

// drainQueue takes q and the managed queues below it out of the configuration: what is empty
// goes at once, what was dynamic is so again, and the rest takes nothing new.
func (r *reload) drainQueue(q *Queue) {
	at := r.visit(q)
	for _, c := range q.Children() {
		if c.managed {
			r.drainQueue(c)
		}
	}
	was := q.draining
	if d := q.formerDynamic; d != nil && q.canBecome(*d) {
		q.formerDynamic = nil
		r.changeSettings(at, d, false)
	} else {
		q.draining = true
		r.visited[at].changed = true
		r.p.recordQueueChange(q)
	}
	if r.p.prune(q); q.draining && !was && !q.removed {
		r.p.noteQueueChange(q, QueueDraining)
	}
}

// changeSettings gives a queue that was met other settings.
func (r *reload) changeSettings(at int, conf *configs.Queue, managed bool) {
	m, p := &r.visited[at], r.p
	q := m.queue
	if managed && !q.managed {
		was := q.conf
		q.formerDynamic = &was
	}
	promises := !q.conf.Guaranteed.Equal(conf.Guaranteed)
	m.changed = true
	m.sharesChanged = promises || !q.conf.Max.Equal(conf.Max)
	if q.conf.Guaranteed.IsEmpty() != conf.Guaranteed.IsEmpty() || q.conf.PreemptionPolicy != conf.PreemptionPolicy {
		r.mayPreemptChanged = append(r.mayPreemptChanged, q)
	}
	r.limitsChanged = r.limitsChanged || !sameLimits(q.conf.Limits, conf.Limits) && holdsWork(q)
	r.classQuotasChanged = r.classQuotasChanged || !sameClassQuotas(q.conf.ClassQuotas, conf.ClassQuotas) && holdsWork(q)
	before := q.policy
	q.setConf(conf)
	if q.managed = managed; managed && q.draining {
		q.draining = false
		p.noteQueueChange(q, QueueRestored)
	}
	p.internNames(q)
	p.recordQueueChange(q)
	m.reorder = before.leaf != q.policy.leaf || before.sort != q.policy.sort || before.prioritySort != q.policy.prioritySort || q.policy.sort == policies.Fair && promises
	if m.reorder {
		p.clearOrdering(q, before.sort)
	}
}

// finish brings up to date what depends on settings. far: everything may.
func (r *reload) finish(far bool) {
	p := r.p
	if far || r.limitsChanged || p.hasMaxApps != (p.maxAppsQueues > 0) {
		p.Unwatch() // anything may change
		p.rebuildOrdering()
		p.markAllToRecheck()
		p.rebuildClassUsage()
		return
	}
	p.RequestRequeue()
	for _, q := range r.mayPreemptChanged {
		p.refreshMayPreempt(q)
	}
	r.refreshDenominators()
	for _, m := range slices.Backward(r.visited) {
		if !m.queue.removed { // else it held nothing
			r.reindex(m)
		}
	}
	p.sortViolating()
	if r.classQuotasChanged {
		p.rebuildClassUsage()
	} else {
		p.hasClassQuotas = len(p.conf.ClassesNeedingQuota) > 0 || p.classQuotaQueues > 0
	}
}

// refreshDenominators finds out anew what shares are measured against, where that has changed: in the queues
// whose max or guarantee has, and below them.
func (r *reload) refreshDenominators() {
	p := r.p
	if p.sharesStale = p.sharesStale || p.namesGivenAtRefresh != p.names.Assigned(); p.sharesStale {
		return // Settle does it everywhere
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
		p.setShareDenominators(q, p.clusterFairMax())
	default:
		if r.fairMaxParent != q.parent {
			r.fairMaxParent, r.fairMax = q.parent, p.fairMaxBelow(q.parent)
		}
		p.setShareDenominators(q, r.fairMax)
		if !q.entry.indexed() { // an indexed queue gets its key when it is reindexed: one member of an index at a time
			q.key.Share = q.Share()
		}
	}
	r.lastMeasured = q
}

// reindex puts a queue where it belongs now. Requires: those that have changed below it stand.
func (r *reload) reindex(m visitedQueue) {
	p, q := r.p, m.queue
	if m.changed {
		p.refitQueue(q)
		if len(q.byID) > 0 { // to begin a walk costs more than to look
			for _, a := range q.byID {
				p.addPreemptors(a)
			}
		}
		p.markToRecheckAlways(q)
	}
	if m.reorder {
		p.rebuildMembers(q)
	}
	if q.parent == nil {
		return
	}
	if now := q.CurrentPriority(); now != m.exposedPriority {
		q.parent.tally.Remove(m.exposedPriority)
		q.parent.tally.Add(now)
	}
	q.reindexInParent()
}

// clearOrdering takes all members out of the orders of q, which are about to become others. Before, its
// applications were sorted by sort.
func (p *Partition) clearOrdering(q *Queue, sort policies.AppSort) {
	q.children.fill(nil)
	q.apps.fill(nil)
	q.starting.fill(nil)
	for _, c := range q.byName {
		c.entry.block = nil
	}
	for _, a := range q.byID {
		a.entry.block, a.startingEntry.block = nil, nil
		if sort == policies.StateAware {
			p.untrackRamp(a)
		}
	}
}

// refreshMayPreempt finds out anew which leaves at q and below give their asks a right to preempt.
func (p *Partition) refreshMayPreempt(q *Queue) {
	if p.updatePolicy(q); q.policy.mayPreempt {
		for _, a := range q.byID {
			p.addPreemptors(a)
		}
	}
	for _, c := range q.byName {
		p.refreshMayPreempt(c)
	}
}
