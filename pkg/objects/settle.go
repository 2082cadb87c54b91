package objects

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Settle brings what queues are measured against up to date, after the cluster or the
// configuration changed, and restores the order of every level. It must be called
// before a decision and before anybody reads a Share; when nothing changed it does
// nothing. However many nodes came and went since, it is done once.
func (p *Partition) Settle() {
	if len(p.joining) == 0 && !p.unsound && !p.stirred {
		return
	}
	p.join()
	if p.unsound {
		p.unsound = false
		p.measure(p.root, p.clusterShares())
	}
	p.rouse()
}

// clusterShares is what a queue without a guarantee and without a max on its path is
// measured against: what the cluster has.
func (p *Partition) clusterShares() resources.Denominators {
	p.measured = p.names.Given()
	fair := make(resources.Denominators, p.names.Len())
	for k := range fair {
		fair[k] = resources.Unmeasured
		if n := p.capacity.At(resources.Kind(k)); n > 0 {
			fair[k] = n
		}
	}
	return fair
}

// measure sets the denominators of q and everything below it. fair is the fair max of
// the queue above: going down, each max replaces the one before, resource by resource,
// and a guarantee goes before both (behaviour.md 3.10). In an empty cluster there is
// no fair max at all.
func (p *Partition) measure(q *Queue, fair resources.Denominators) {
	q.shares = append(q.shares[:0], fair...)
	if !p.capacity.IsZero() {
		overlay(q.shares, q.max)
	}
	if len(q.byName) == 0 {
		overlay(q.shares, q.guaranteed)
		return
	}
	if fair = q.shares; len(q.guaranteed) > 0 {
		fair = slices.Clone(q.shares)
		overlay(q.shares, q.guaranteed)
	}
	for _, c := range q.byName {
		p.measure(c, fair)
		c.key.Share = c.Share()
	}
	q.children.rebuild()
}

// fairBelow is the fair max of q: what measure takes for the queues below it.
func (p *Partition) fairBelow(q *Queue) resources.Denominators {
	fair := p.clusterShares()
	if p.capacity.IsZero() {
		return fair
	}
	for _, q := range q.line() {
		overlay(fair, q.max)
	}
	return fair
}

func overlay(d resources.Denominators, b resources.Bound) {
	for k := range d {
		if n, ok := b.At(resources.Kind(k)); ok {
			d[k] = max(n, 0)
		}
	}
}

// restand builds every index and every priority anew, from the applications up. It is
// for changes that can move anything, such as a new configuration.
func (p *Partition) restand() {
	p.ramping, p.resting, p.joining, p.unsound = nil, nil, nil, false
	p.relimit()
	p.changes++
	p.useScale()
	p.measure(p.root, p.clusterShares())
	p.restandBelow(p.root)
	var nodes, others []*entry[*Node]
	for _, n := range p.nodes {
		n.key.Score = p.scale.score(n)
		switch {
		case n.schedulable:
			nodes = append(nodes, &n.turn)
		case n.turn.in():
			others = append(others, &n.turn)
		}
	}
	p.byScore.fill(nodes)
	p.unschedulable.fill(others)
}

// recountPriority is for a configuration that may heed priorities although the one before did
// not, or the reverse. All asks of a class have the same, so their order in it stays.
func (p *Partition) recountPriority(c *Class) {
	for _, list := range [][]*Allocation{c.Asks(), c.aside} {
		for _, x := range list {
			x.key.Priority = p.counted(x.ask)
		}
	}
}

func (p *Partition) restandBelow(q *Queue) {
	p.refit(q)
	for _, c := range q.byName {
		p.restandBelow(c)
	}
	p.restandMembers(q)
}

// restandMembers builds the orders and the priority of q anew, from those of what is directly below
// it. Requires: none of its applications is watched because it ramps up.
func (p *Partition) restandMembers(q *Queue) {
	q.tally = policies.Tally{}
	q.children.fill(nil)
	q.apps.fill(nil)
	q.newcomers.fill(nil)
	for _, c := range q.byName {
		c.turn.at = nil
		q.tally.Add(c.CurrentPriority())
		c.standInTurn()
	}
	for _, a := range q.byID {
		a.turn.at, a.fresh.at, a.key.Shares = nil, nil, a.key.Shares[:0]
		a.rekey()
		q.tally.Add(a.key.Priority)
		p.watchRamp(a)
		a.classes.turns.fill(nil)
		for _, c := range a.classes.list {
			c.turn.at = nil
			p.recountPriority(c)
			c.wake()
		}
	}
	for _, a := range q.byID {
		q.newcomers.stand(&a.fresh, a.newcomer())
	}
	for _, a := range q.byID {
		a.standInTurn()
	}
}

// ramp is an application of a StateAware leaf that ramps up by time, if not before.
type ramp struct {
	app  *Application
	from time.Time
}

// watchRamp notes when a will have ramped up.
func (p *Partition) watchRamp(a *Application) {
	if a.queue.rule.sort != policies.StateAware || a.ramped || a.made == 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(p.ramping, a.firstMade, func(r ramp, t time.Time) int { return r.from.Compare(t) })
	for at < len(p.ramping) && p.ramping[at].from.Equal(a.firstMade) {
		at++
	}
	p.ramping = slices.Insert(p.ramping, at, ramp{a, a.firstMade})
}

// unwatchRamp forgets that a would have ramped up.
func (p *Partition) unwatchRamp(a *Application) {
	at, found := slices.BinarySearchFunc(p.ramping, a.firstMade, func(r ramp, t time.Time) int { return r.from.Compare(t) })
	for ; found && at < len(p.ramping) && p.ramping[at].from.Equal(a.firstMade); at++ {
		if p.ramping[at].app == a {
			p.ramping = slices.Delete(p.ramping, at, at+1)
			return
		}
	}
}
