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
	p     *Partition
	met   []met    // the queues that were there and have changed, and all above them; each behind the one above it
	grown []*Queue // the tops of what is new

	limits  bool     // limits of users and groups have changed where there are applications
	scoped  bool     // class quotas have, likewise
	reclaim []*Queue // parents below which the right to preempt may have changed

	parent *Queue                 // whose fair is known
	fair   resources.Denominators // what a queue below parent is measured against
	share  *Queue                 // the last queue that was measured with all that is below it
}

// met is a queue, and how it was before the reload.
type met struct {
	queue   *Queue
	exposed policies.Current // to its parent
	changed bool             // it has other settings
	reorder bool             // its members have another order
	measure bool             // its max or its guarantee has changed
}

// follow gives q, and what is below it, the settings that differ.
func (r *reload) follow(q *Queue, d *difference) {
	at := r.meet(q)
	if d.own {
		r.change(at, d.conf, true)
	}
	for i := range d.below {
		switch d := &d.below[i]; {
		case d.conf == nil:
			r.drain(q.byName[d.name])
		case d.added:
			r.add(q, d.conf)
		default:
			r.follow(q.byName[d.name], d)
		}
	}
}

func (r *reload) meet(q *Queue) (at int) {
	r.met = append(r.met, met{queue: q, exposed: q.CurrentPriority()})
	return len(r.met) - 1
}

// add puts a queue into the configuration. It may be there all the same, created on request or
// draining; then it is managed from now on, and what it holds stays.
func (r *reload) add(parent *Queue, conf *configs.Queue) {
	q := parent.byName[conf.Name]
	if q == nil {
		r.grown = append(r.grown, r.p.grow(*conf, parent, true))
		return
	}
	r.change(r.meet(q), conf, true)
	wanted := make(map[string]bool, len(conf.Children))
	for i := range conf.Children {
		wanted[conf.Children[i].Name] = true
		r.add(q, &conf.Children[i])
	}
	for _, child := range q.Children() {
		if child.managed && !wanted[child.conf.Name] {
			r.drain(child)
		}
	}
}

// drain takes q and the managed queues below it out of the configuration: what is empty
// goes at once, what was dynamic is so again, and the rest takes nothing new.
func (r *reload) drain(q *Queue) {
	at := r.meet(q)
	for _, c := range q.Children() {
		if c.managed {
			r.drain(c)
		}
	}
	was := q.draining
	if d := q.dynamic; d != nil && q.mayBe(*d) {
		q.dynamic = nil
		r.change(at, d, false)
	} else {
		q.draining = true
		r.met[at].changed = true
		r.p.changedQueue(q)
	}
	if r.p.prune(q); q.draining && !was && !q.gone {
		r.p.noteQueue(q, QueueDraining)
	}
}

// change gives a queue that was met other settings.
func (r *reload) change(at int, conf *configs.Queue, managed bool) {
	m, p := &r.met[at], r.p
	q := m.queue
	if managed && !q.managed {
		was := q.conf
		q.dynamic = &was
	}
	promises := !q.conf.Guaranteed.Equal(conf.Guaranteed)
	m.changed = true
	m.measure = promises || !q.conf.Max.Equal(conf.Max)
	if q.conf.Guaranteed.IsEmpty() != conf.Guaranteed.IsEmpty() || q.conf.Preemption != conf.Preemption {
		r.reclaim = append(r.reclaim, q)
	}
	r.limits = r.limits || !sameLimits(q.conf.Limits, conf.Limits) && holdsWork(q)
	r.scoped = r.scoped || !sameClassQuotas(q.conf.ClassQuotas, conf.ClassQuotas) && holdsWork(q)
	before := q.rule
	q.use(conf)
	if q.managed = managed; managed && q.draining {
		q.draining = false
		p.noteQueue(q, QueueRestored)
	}
	p.intern(q)
	p.changedQueue(q)
	m.reorder = before.leaf != q.rule.leaf || before.sort != q.rule.sort || before.by != q.rule.by || q.rule.sort == policies.Fair && promises
	if m.reorder {
		p.scatter(q, before.sort)
	}
}

// finish brings up to date what depends on settings. far: everything may.
func (r *reload) finish(far bool) {
	p := r.p
	if far || r.limits || p.gated != (p.bounds > 0) {
		p.Unwatch() // anything may change
		p.restand()
		p.doubtAll()
		p.remeter()
		return
	}
	p.Reconsider()
	for _, q := range r.reclaim {
		p.reclaim(q)
	}
	r.measure()
	for _, m := range slices.Backward(r.met) {
		if !m.queue.gone { // else it held nothing
			r.stand(m)
		}
	}
	p.orderLooks()
	if r.scoped {
		p.remeter()
	} else {
		p.metered = len(p.conf.NeedQuota) > 0 || p.scoped > 0
	}
}

// measure finds out anew what shares are measured against, where that has changed: in the queues
// whose max or guarantee has, and below them.
func (r *reload) measure() {
	p := r.p
	if p.unsound = p.unsound || p.measured != p.names.Given(); p.unsound {
		return // Settle does it everywhere
	}
	for i := range r.met {
		if m := &r.met[i]; m.measure {
			r.measureFrom(m.queue)
		}
	}
	for _, q := range r.grown {
		r.measureFrom(q)
	}
}

func (r *reload) measureFrom(q *Queue) {
	p := r.p
	switch {
	case r.share != nil && len(r.share.byName) > 0 && r.share.Above(q), q.gone:
		return
	case q.parent == nil:
		p.measure(q, p.clusterShares())
	default:
		if r.parent != q.parent {
			r.parent, r.fair = q.parent, p.fairBelow(q.parent)
		}
		p.measure(q, r.fair)
		q.key.Share = q.Share()
	}
	r.share = q
}

// stand puts a queue where it belongs now. Requires: those that have changed below it stand.
func (r *reload) stand(m met) {
	p, q := r.p, m.queue
	if m.changed {
		p.refit(q)
		if len(q.byID) > 0 { // to begin a walk costs more than to look
			for _, a := range q.byID {
				p.noticeAll(a)
			}
		}
		p.doubtAnew(q)
	}
	if m.reorder {
		p.restandMembers(q)
	}
	if q.parent == nil {
		return
	}
	if now := q.CurrentPriority(); now != m.exposed {
		q.parent.tally.Remove(m.exposed)
		q.parent.tally.Add(now)
	}
	q.standInTurn()
}

// scatter takes all members out of the orders of q, which are about to become others. Before, its
// applications were sorted by sort.
func (p *Partition) scatter(q *Queue, sort policies.Sort) {
	q.children.fill(nil)
	q.apps.fill(nil)
	q.newcomers.fill(nil)
	for _, c := range q.byName {
		c.turn.at = nil
	}
	for _, a := range q.byID {
		a.turn.at, a.fresh.at = nil, nil
		if sort == policies.StateAware {
			p.unwatchRamp(a)
		}
	}
}

// reclaim finds out anew which leaves at q and below give their asks a right to preempt.
func (p *Partition) reclaim(q *Queue) {
	if p.rule(q); q.rule.claims {
		for _, a := range q.byID {
			p.noticeAll(a)
		}
	}
	for _, c := range q.byName {
		p.reclaim(c)
	}
}
