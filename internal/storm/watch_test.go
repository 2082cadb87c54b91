package storm

import (
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What is watched.
//
// An ask preempts once. It is nominated for the node then, the room is held for it against asks
// that are no more important, and while its victims leave it does not look (ADR 24). So it can
// only preempt again after its nomination has ended unplaced, and for that something must have
// happened to it since: an excuse. excuse says which there are: what the manager did or
// saw, never what only the Core believes. Each time needs an excuse that is younger than the time before, so
//
//	preemptions of an ask <= 1 + excuses that it had,
//
// and where nothing happens any more, which is the calm, only asks that are more important can
// be one, and asks of its own queue that take the rest of its quota.
//
// Work that comes back may preempt in its turn. By right of priority its victims are strictly less
// important. By right of the guarantee they may be as important, but then they come from a queue
// that stays at or above its guarantee (P4), so that one cannot take them back by the same right.
// Between one level of priority and the next there is at most one such step, so
//
//	a chain in which each was displaced by the one before is at most 2 * levels - 1 long,
//
// and each of its links is an ask that preempts at most once: there is no ping-pong (P10).

// longestChain is how many preemptions in the calm may have led to one another.
func longestChain() int { return 2*len(levels) - 1 }

// watch is what the properties need to remember.
type watch struct {
	counts map[string]int

	seq     int // of everything that is heard or done
	told    int // to leave
	pending int // now
	seen    uint64

	last     map[objects.AllocationKey]claim
	times    map[objects.AllocationKey]int // that an ask preempted
	most     int
	asked    map[objects.AllocationKey]int32 // the priorities of all that ever were
	again    []task                          // that have left and are to ask again
	changed  map[objects.NodeID]int          // when something happened to a node
	taken    map[objects.NodeID][]use        // what came to a node
	late     map[objects.NodeID]int          // when the time of somebody on a node ended who was told to leave
	resized  map[objects.AllocationKey]int   // when an ask became another one
	gaveUp   map[objects.AllocationKey]bool  // since the core began to decide, alone in their application: true
	quota    int                             // when something was placed in the leaf that has a max
	reloadAt int
	moodAt   int
	overAt   int // when a node held more than it has

	paused  map[[2]objects.QueuePath]time.Time // leaves, in both orders, and since when
	message string                             // of the last preemption that was heard
	chain   int                                // the longest in the calm
	rest    int                                // preemptions in the calm
}

// claim is the last preemption of an ask.
type claim struct {
	number uint64
	seq    int
	at     time.Time
	node   objects.NodeID
}

// use is an ask that came to a node, or is nominated for it.
type use struct {
	seq      int
	priority int32
}

func newWatch() watch {
	return watch{
		counts: map[string]int{}, last: map[objects.AllocationKey]claim{}, times: map[objects.AllocationKey]int{},
		asked: map[objects.AllocationKey]int32{}, late: map[objects.NodeID]int{}, changed: map[objects.NodeID]int{}, taken: map[objects.NodeID][]use{},
		resized: map[objects.AllocationKey]int{}, gaveUp: map[objects.AllocationKey]bool{}, reloadAt: -1, moodAt: -1, overAt: -1, quota: -1,
		paused: map[[2]objects.QueuePath]time.Time{},
	}
}

func (w *watch) disturb(id objects.NodeID) {
	w.seq++
	w.changed[id] = w.seq
}

// hear brings the books of the manager up to date.
func (m *manager) hear(effects []scheduler.Effect) {
	m.t.Helper()
	m.w.message = ""
	for _, e := range effects {
		m.w.seq++
		switch e := e.(type) {
		case scheduler.Allocated:
			m.placed(e)
		case scheduler.Released:
			m.released(e)
		case scheduler.ApplicationUpdated:
			if e.State == objects.Completed {
				delete(m.apps, e.App)
			}
		case scheduler.Forgotten:
			clear(m.w.paused)
		case scheduler.Noted:
			m.roundAbout(e)
			m.astray(e)
		case scheduler.AskRejected, scheduler.NodeRejected, scheduler.ApplicationRejected:
			m.fail("%s", e)
		case scheduler.Refused:
			if want := "confirmation that allocation " + string(m.expected.Key) + " was preempted"; m.expected.Key == "" || e.What != want {
				m.fail("%s", e)
			}
		}
	}
}

// roundAbout holds preemptions against pauses. What is decided together, as for a gang, may go on.
func (m *manager) roundAbout(e scheduler.Noted) {
	switch e.What {
	case scheduler.NoteChurn:
		m.count("room goes round")
		for i, a := range e.Cycle {
			b := e.Cycle[(i+1)%len(e.Cycle)]
			if !e.Until.IsZero() {
				m.count("room goes round, and there is a pause")
				m.w.paused[[2]objects.QueuePath{a, b}], m.w.paused[[2]objects.QueuePath{b, a}] = m.now, m.now
			}
		}
	case scheduler.NotePauseEnded:
		a, b := e.Cycle[0], e.Cycle[len(e.Cycle)-1]
		delete(m.w.paused, [2]objects.QueuePath{a, b})
		delete(m.w.paused, [2]objects.QueuePath{b, a})
	case scheduler.NotePreempted:
		if since, paused := m.w.paused[[2]objects.QueuePath{e.By.Queue, e.Who.Queue}]; paused && since.Before(m.now) {
			m.fail("%s, and they are paused since %s", e, since)
		}
	}
}

// astray remembers who has given its node up and is alone.
func (m *manager) astray(e scheduler.Noted) {
	if e.End == scheduler.NominationGivenUp || e.End == scheduler.NominationTimedOut {
		if m.w.gaveUp[e.Who.Key] = m.alone(e.Who.Key); m.w.gaveUp[e.Who.Key] {
			m.count("somebody alone gives up its node")
		}
	}
}

// alone reports whether nothing else of its application is pending: others like it may look.
func (m *manager) alone(key objects.AllocationKey) bool {
	for _, x := range m.work {
		if pending(x) && x.ask.Key != key && x.ask.App == m.work[key].ask.App {
			return false
		}
	}
	return true
}

func (m *manager) placed(e scheduler.Allocated) {
	x := m.work[e.Ask.Key]
	if x == nil || running(x) && x.node != e.Node {
		m.fail("%s, and nobody asks for it", e)
	}
	if n := m.nodes[e.Node]; n == nil || n.away || n.drains && !running(x) && e.Ask.RequiredNode != e.Node {
		m.fail("%s, which takes no work", e)
	}
	x.node = e.Node
	if c, waited := m.w.last[x.ask.Key]; waited {
		delete(m.w.last, x.ask.Key)
		if c.node == e.Node {
			m.count("who preempted gets the node")
		} else {
			m.count("who preempted gets another node")
		}
	}
	m.w.taken[e.Node] = append(m.w.taken[e.Node], use{m.w.seq, x.ask.Priority})
	if x.queue() == batch {
		m.w.quota = m.w.seq
	}
}

func (m *manager) released(e scheduler.Released) {
	x := m.work[e.Key]
	if x == nil || pending(x) {
		m.fail("%s, which does not run", e)
	}
	if e.Type != scheduler.PreemptedByScheduler {
		m.depart(x)
		return
	}
	if leaving(x) {
		m.fail("%s, which was told before at %s", e, x.told.Format(time.TimeOnly))
	}
	m.w.told++
	x.told, x.order = m.now, m.w.told
	m.preempted(e)
	m.answer(x)
}

// preempted finds out whose victim it is. The ledger has an entry for each preemption, in the order in which they are heard of.
func (m *manager) preempted(e scheduler.Released) {
	victim := func(v scheduler.Victim) bool { return v.Key == e.Key }
	p, _ := m.core.Preemption(m.w.seen)
	if e.Message != m.w.message || !slices.ContainsFunc(p.Victims, victim) { // an ask may lose the node at once
		m.w.message = e.Message
		m.w.seen++
		var ok bool
		if p, ok = m.core.Preemption(m.w.seen); !ok || !slices.ContainsFunc(p.Victims, victim) {
			m.fail("%s, which is no victim of preemption %d", e, m.w.seen)
		}
		m.count("by right of " + p.Right.String())
		if m.calm {
			m.w.rest++
		}
		if p.Right != preemption.OfQuota && p.Right != preemption.OfPressure {
			m.claimed(p)
		}
	}
	if !m.calm {
		return
	}
	x := m.work[e.Key]
	x.depth = 0
	if by := m.work[p.Ask.Key]; by != nil {
		x.depth = by.depth + 1
	}
	m.w.chain = max(m.w.chain, x.depth)
	if x.depth > longestChain() {
		m.fail("%s is the end of a chain of %d preemptions, which is ping-pong", e.Key, x.depth)
	}
}

// claimed holds a preemption against what was before.
func (m *manager) claimed(p scheduler.Preemption) {
	key := p.Ask.Key
	x := m.work[key]
	if x == nil {
		m.fail("preemption %d is for ask %s, which nobody wants", p.Number, key)
	}
	for _, v := range p.Victims {
		if v.Priority > x.ask.Priority || v.Priority == x.ask.Priority && p.Right == preemption.OfPriority {
			m.fail("%s at %d takes the place of %s at %d by right of %s", key, x.ask.Priority, v.Key, v.Priority, p.Right)
		}
	}
	if m.w.gaveUp[key] {
		m.fail("%s gave up its node, and has looked again at once", key)
	}
	if c, again := m.w.last[key]; again {
		excuse := m.excuse(x, c)
		if excuse == "" {
			before, _ := m.core.Preemption(c.number)
			m.fail("%s of %s preempts again for no reason, %s after it did for node %s: that was %s (%s), with victims %v",
				key, p.Ask.Queue, m.now.Sub(c.at), c.node, before.Nomination.State, before.Nomination.Why, before.Victims)
		}
		m.count("again, as " + excuse)
	}
	m.w.times[key]++
	m.w.most = max(m.w.most, m.w.times[key])
	m.w.last[key] = claim{p.Number, m.w.seq, m.now, p.Node}
	m.w.taken[p.Node] = append(m.w.taken[p.Node], use{m.w.seq, x.ask.Priority})
}

// excuse is what has happened to an ask since it preempted; empty: nothing.
func (m *manager) excuse(x *task, c claim) string {
	switch {
	case m.w.resized[x.ask.Key] > c.seq:
		return "it is another one"
	case m.w.changed[c.node] > c.seq:
		return "its node has changed"
	case m.lost(x, c):
		return "a more important one took the node"
	case m.conf.timeout > 0 && m.now.Sub(c.at) >= m.conf.timeout:
		return "it has waited too long"
	case m.w.late[c.node] > c.seq:
		return "somebody else has not left in time"
	case m.w.reloadAt >= c.seq:
		return "the configuration has changed"
	case m.moody && m.w.moodAt >= c.seq:
		return "the manager has changed its mind"
	case x.queue() == batch && m.w.quota > c.seq:
		return "others have used its quota"
	case m.w.overAt > c.seq:
		return "another node holds more than it has" // which the root lacks
	}
	return ""
}

// lost reports whether a more important ask came to the node. One that took it over, for which
// nobody else had to leave, may be placed elsewhere by now; only the ledger knows which it was.
func (m *manager) lost(x *task, c claim) bool {
	before, _ := m.core.Preemption(c.number)
	more, known := m.w.asked[before.Nomination.To]
	return known && more > x.ask.Priority ||
		slices.ContainsFunc(m.w.taken[c.node], func(u use) bool { return u.seq > c.seq && u.priority > x.ask.Priority })
}

// overdue notes who has not left in time, which the Core finds out when it begins to decide.
func (m *manager) overdue() {
	m.w.seq++
	for _, x := range m.work {
		if leaving(x) && !x.late && m.conf.timeout > 0 && !m.now.Before(x.told.Add(m.conf.timeout)) {
			x.late, m.w.late[x.node] = true, m.w.seq
			if x.queue() == batch {
				m.w.quota = m.w.seq // nobody counts on what it holds of it any more
			}
		}
	}
}

// check looks at everything that must hold at any time.
func (m *manager) check() {
	m.t.Helper()
	if err := m.core.Check(); err != nil {
		m.fail("%v", err)
	}
	m.w.seq++
	m.w.pending = 0
	used := map[objects.NodeID]int{}
	for _, x := range m.work {
		if used[x.node] += x.size; pending(x) {
			m.w.pending++
		}
	}
	for id, n := range m.nodes {
		if !n.away && used[id] > n.has-n.foreign {
			m.w.overAt = m.w.seq
		}
	}
	for key := range m.w.last {
		if x := m.work[key]; x == nil || running(x) {
			delete(m.w.last, key)
		}
	}
	for _, y := range m.core.Partition().Nominees() {
		x, n := m.work[y.Key()], m.nodes[m.core.Partition().Nomination(y).ID()]
		if x == nil || running(x) || n == nil || n.away || n.drains && x.ask.RequiredNode != m.core.Partition().Nomination(y).ID() {
			m.fail("%s waits for a node, and nobody wants it, or it runs, or the node takes no work", y.Key())
		}
	}
}

// settled holds what waits against the manager's own books, when nothing can be decided: whoever
// has room on the node it waits for, beside what is held for others, must have been placed, and
// who has none waits for somebody to leave.
func (m *manager) settled() {
	part := m.core.Partition()
	for _, y := range part.Nominees() {
		x, id := m.work[y.Key()], part.Nomination(y).ID()
		m.count("somebody waits for a node")
		free, all, leaf := m.nodes[id].has-m.nodes[id].foreign, 0, 0
		for _, n := range m.nodes {
			if !n.away && !n.drains {
				all += n.has - n.foreign
			}
		}
		soon := false
		for _, other := range m.work {
			if running(other) {
				all -= other.size
				if other.node == id {
					free -= other.size
					soon = soon || leaving(other) && !other.late
				}
				if other.queue() == batch {
					leaf += other.size
				}
			}
		}
		for _, z := range part.Nominees() {
			if other := m.work[z.Key()]; z != y && part.Nomination(z).ID() == id && other.ask.Priority >= x.ask.Priority {
				free -= other.size
			}
		}
		fits := free >= x.size && all >= x.size && (x.queue() != batch || leaf+x.size <= m.conf.most)
		if fits && (!m.moody || m.Fits(y.Key(), id)) {
			m.fail("%s has %d cores on node %s, which it waits for, and is not placed", y.Key(), free, id)
		}
		if free < x.size && !soon {
			m.fail("%s waits in vain: it has %d cores on node %s, and nobody will leave", y.Key(), free, id)
		}
	}
}

// balance compares all books at the end.
func (m *manager) balance() {
	s := m.core.Snapshot(m.now)
	used, runs := map[objects.NodeID]int{}, 0
	for _, key := range slices.Sorted(maps.Keys(m.work)) {
		x := m.work[key]
		y, ok := m.core.Partition().Allocation(key)
		if !ok || y.Pending() != pending(x) || running(x) && y.Node().ID() != x.node || m.core.Partition().Leaving(y) != leaving(x) {
			m.fail("%s is not in the books as the manager knows it", key)
		}
		if running(x) {
			used[x.node] += x.size
			runs++
		}
	}
	if s.Allocations != runs || s.Asks != len(m.work)-runs {
		m.fail("%d run and %d are asked for, it should be %d and %d", s.Allocations, s.Asks, runs, len(m.work)-runs)
	}
	for n := range s.Nodes.All() {
		if !n.Allocated.Equal(cores(used[n.ID])) {
			m.fail("node %s has given away %v, not %d cores", n.ID, n.Allocated, used[n.ID])
		}
	}
}
