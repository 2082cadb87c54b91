package fairness

import (
	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// level is a queue whose children, applications or users are ordered by usage over time. It stays when the queue is
// removed, for one of the same path.
type level struct {
	path     objects.QueuePath
	queue    *objects.Queue // the last one of that path
	leaf     bool           // it was one when the level began: the queue may become a parent
	by       policies.FairnessBy
	halfLife int64 // milliseconds
	clock    decay.Clock
	tick     int64        // of the keys
	factor   decay.Number // of what is held, in a key
	members  map[string]*member
	running  []*member // those that hold something, or did in the tick of the keys
	rekey    int       // so many of running have a key of a former tick
}

// heldFor says how much what is held counts in a key: as if it had been used for a half-life / heldFor already.
const heldFor = 20

func (l *level) setTick(tick int64) {
	l.tick = tick
	l.factor = decay.Of(uint64(l.halfLife / heldFor)).Times(decay.Growth(tick))
}

// member is a child, an application or a user of a level, by name.
type member struct {
	level   *level
	name    string
	history decay.History
	active  bool         // it has something pending, or holds something, as of the last Settle
	touched bool         // it is in Engine.touched
	noted   bool         // it is in Engine.users
	keyed   decay.Number // its last key
	keyedAt int64        // of which tick that is
	index   int          // in level.running; -1: it holds nothing

	queue *objects.Queue         // of a child; nil: it has never been there in this process
	apps  []*objects.Application // it is the application, or the user of these
}

// key returns by what m is compared: what it has used over time, and what it holds now, by its weight (FAI-4).
func (eng *Engine) key(m *member) decay.Number {
	k := m.history.Through(m.level.clock, m.level.tick).Plus(decay.Of(m.history.Held).Times(m.level.factor))
	return eng.byWeight(m, k, decay.Number.Over)
}

// keyNow returns the key of m, and notes it.
func (eng *Engine) keyNow(m *member) decay.Number {
	m.keyed, m.keyedAt = eng.key(m), m.level.tick
	return m.keyed
}

// byWeight divides a number by the weight of m, or multiplies it.
func (eng *Engine) byWeight(m *member, n decay.Number, do func(n, weight decay.Number) decay.Number) decay.Number {
	if m.queue == nil || m.queue.Fairness().Weight == 0 {
		return n
	}
	return do(n, eng.weightOf(m.queue))
}

// weightOf returns the weight of a queue, relative to the default. A guarantee counts as the part of the cluster that
// it is, and as a thousandth at least (FAI-5).
func (eng *Engine) weightOf(q *objects.Queue) decay.Number {
	thousandths, ok := q.Fairness().Weight.Thousandths()
	if ok {
		return decay.Of(thousandths).Over(decay.Of(1000))
	}
	return decay.Of(eng.prices.guaranteed(q, &eng.sum)).Over(decay.Of(whole))
}

// pending reports whether asks of m are pending.
func (m *member) pending() bool {
	if m.queue != nil {
		return m.queue.HasPending()
	}
	for _, a := range m.apps {
		if a.PendingAskCount() > 0 {
			return true
		}
	}
	return false
}

// unused reports whether m has used nothing, and holds nothing.
func (m *member) unused() bool {
	return m.history.Past.IsZero() && m.history.Partial == 0 && m.history.Held == 0
}

// hold records that m holds something of another cost from now on. What it has used in the tick of now is in its key
// from the next tick on, so it is listed as running until then.
func (eng *Engine) hold(m *member, cost uint64) {
	m.history.Hold(m.level.clock, eng.now, cost)
	if m.history.Held > 0 && m.index < 0 {
		m.index = len(m.level.running)
		m.level.running = append(m.level.running, m)
		eng.runs++
	}
}

// stopped takes m, which holds nothing, from those that run.
func (eng *Engine) stopped(m *member) {
	l, last := m.level, len(m.level.running)-1
	l.running[m.index] = l.running[last]
	l.running[m.index].index = m.index
	l.running[last], l.running, m.index = nil, l.running[:last], -1
	eng.runs--
}

// held returns the cost of what m holds. Placeholders count for nothing in a leaf, so that a gang that has begun to be
// placed keeps its turn (FAI-9).
func (eng *Engine) held(m *member) uint64 {
	if m.queue != nil {
		return eng.prices.of(m.queue.Allocated())
	}
	eng.sum = eng.sum[:0]
	for _, a := range m.apps {
		eng.sum.Add(a.Allocated())
	}
	return eng.prices.of(eng.sum)
}
