package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// An application stands in an index of its leaf, a queue in one of its parent. After a
// posting the application and the queues above it take their new places: keys,
// priorities and masks are brought up to date from the leaf to the root, and nothing
// outside that path is touched.

// stand puts a and every queue above it where they belong now, after the books changed,
// and likewise the applications that share an account with it, if that offers other shapes
// than before.
func (p *Partition) stand(a *Application) {
	if a.stand() {
		p.changes++
	}
	for len(p.turned) > 0 {
		x := p.turned[0]
		p.turned = p.turned[1:]
		for _, other := range x.members {
			if other != a && other.asks > 0 {
				other.stand()
			}
		}
	}
}

// stand puts a and every queue above it where they belong now. It reports whether another of the
// newcomers of its leaf may start than before.
func (a *Application) stand() (another bool) {
	q, was := a.queue, a.key.Priority
	a.rekey()
	another = a.standInLeaf()
	for now := a.key.Priority; ; q = q.parent {
		shown := q.CurrentPriority()
		if was != now { // a change travels up only while it changes anything
			q.tally.Remove(was)
			q.tally.Add(now)
		}
		was, now = shown, q.CurrentPriority()
		if q.parent == nil {
			return another
		}
		q.standInTurn()
	}
}

// standInTurn puts a into the order of its leaf, if it asks for something, with the
// shapes that it may be given.
func (a *Application) standInTurn() {
	if a.turn.can = a.turn.can[:0]; a.MayStart() {
		a.turn.can.copyFrom(a.classes.turns.all())
		a.Narrow(a.turn.can)
	}
	a.queue.apps.stand(&a.turn, a.asks > 0)
}

// standInLeaf puts a into both orders of its leaf. When that changes which of the
// newcomers is first, which it reports, the one who was and the one who is offer something else now.
func (a *Application) standInLeaf() (another bool) {
	q := a.queue
	if q.rule.sort != policies.StateAware {
		a.standInTurn()
		return false
	}
	before := q.newcomers.lowest()
	q.newcomers.stand(&a.fresh, a.newcomer())
	after := q.newcomers.lowest()
	a.standInTurn()
	if before == after {
		return false
	}
	for _, other := range []*Application{before, after} {
		if other != nil && other != a && other.turn.in() {
			other.standInTurn()
		}
	}
	return true
}

// newcomer reports whether a is one of those of which only the first may be given
// something: in a StateAware leaf, not ramped up, and either asking or still holding
// its first allocation.
func (a *Application) newcomer() bool {
	return a.queue.rule.sort == policies.StateAware && !a.ramped && (a.asks > 0 || a.made > 0 && a.bound > 0)
}

// standInTurn puts q into the order of its parent, if anything below it is pending, with
// the shapes that something below asks for and that q itself has headroom for.
func (q *Queue) standInTurn() {
	q.key.Priority = q.CurrentPriority()
	q.key.Share = q.Share()
	q.key.Pending = q.pending.Sum()
	q.turn.can.copyFrom(q.below())
	q.Narrow(q.turn.can)
	q.parent.children.stand(&q.turn, q.HasPending())
}

// below is the shapes that something below q asks for and may be given, as far as the
// queues below q are concerned.
func (q *Queue) below() Mask {
	if q.Leaf() {
		return q.apps.all()
	}
	return q.children.all()
}

// refit decides which shapes q has headroom for, after its books or its max changed.
func (p *Partition) refit(q *Queue) {
	if q.rule.roomy {
		return
	}
	p.slots.settle(p.names.Len())
	p.slots.all(&q.fit)
	if q.full() {
		q.fit.without(p.slots.starting)
	}
	if q.parent == nil {
		for k := range p.names.Len() {
			k := resources.Kind(k)
			p.slots.within(q.fit, k, resources.Less(p.capacity.At(k), q.allocated.At(k)))
		}
		return
	}
	for i := range q.max {
		k, left := q.max.Left(i, q.allocated)
		p.slots.within(q.fit, k, left)
	}
}
