package twin

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Usage over time (FAI-1 to FAI-8). All that is compared is looked at after each command and each decision, and every
// key is computed for each comparison. The arithmetic is that of package decay, which has laws of its own.

// usageLevel has the histories of what is compared directly below a queue, by name.
type usageLevel struct {
	kind     fairness.Kind
	halfLife int64 // milliseconds
	tick     int64 // of the last look at what can be forgotten
	members  map[string]*usageMember
}

type usageMember struct {
	decay.History
	active bool // pending, or holding something
	there  bool // it exists now
}

func (l *usageLevel) clock() decay.Clock { return decay.NewClock(l.halfLife) }

// overTime reports whether usage over time orders what is directly below q, and what that is.
func overTime(q *queue) (fairness.Kind, bool) {
	switch {
	case q.conf.Fairness.HalfLife == 0 || !q.conf.Parent && q.conf.AppSort == policies.StateAware:
		return "", false
	case q.conf.Parent:
		return fairness.Queues, true
	case q.conf.Fairness.By == policies.FairByUser:
		return fairness.Users, true
	}
	return fairness.Applications, true
}

// usageMembers returns what is compared below q, by name: what it holds, and whether something of it is pending.
func (t *Twin) usageMembers(c *totals, q *queue, kind fairness.Kind) (held map[string]resources.Amounts,
	pending map[string]bool) {
	held, pending = map[string]resources.Amounts{}, map[string]bool{}
	for _, child := range q.children {
		name := child.conf.Name
		held[name], pending[name] = c.allocated[child.path], !c.pending[child.path].IsZero()
	}
	for _, a := range t.apps {
		if a.leaf != q.path {
			continue
		}
		name := string(a.id)
		if kind == fairness.Users {
			name = a.user.Name
		}
		h := c.apps[a.id]
		held[name] = held[name].Add(h.allocated)
		pending[name] = pending[name] || len(h.asks) > 0
	}
	return held, pending
}

// cost returns what amounts cost by the prices of the last decision (FAI-2).
func (t *Twin) cost(amounts resources.Amounts) uint64 {
	return costOf(amounts, t.prices, t.fairnessWeights)
}

// costOf returns what amounts cost in a cluster of this capacity and with these weights.
func costOf(amounts, capacity resources.Amounts, by []policies.Weight) (cost uint64) {
	sum := uint64(0)
	weights := map[string]uint64{}
	for _, w := range by {
		weights[w.Resource] = uint64(float64(w.Weight*1000) + 0.5)
		sum += weights[w.Resource]
	}
	for name, n := range amounts.All() {
		all := capacity.Get(name)
		if all <= 0 || n <= 0 {
			continue
		}
		part := new(big.Int).Lsh(big.NewInt(int64(n)), 32)
		part.Quo(part, big.NewInt(int64(all)))
		x := uint64(decay.MaxHeld)
		if part.IsUint64() {
			x = min(x, part.Uint64())
		}
		if sum == 0 {
			cost = max(cost, x)
		} else {
			cost += x * weights[name] / sum
		}
	}
	return min(cost, decay.MaxHeld)
}

// followUsage records what everything holds from now on, and what begins to be active.
func (t *Twin) followUsage() {
	ms, c := t.now.UnixMilli(), t.total()
	t.eachQueue(t.root, func(q *queue) {
		kind, is := overTime(q)
		if l := t.usage[q.path]; l != nil && (!is || l.kind != kind) {
			delete(t.usage, q.path)
		}
		if !is {
			return
		}
		l, halfLife := t.usage[q.path], q.conf.Fairness.HalfLife.Milliseconds()
		begins := l == nil
		if begins {
			l = &usageLevel{kind: kind, halfLife: halfLife, members: map[string]*usageMember{}}
			l.tick = l.clock().At(ms)
			t.usage[q.path] = l
		}
		if was := l.clock(); l.halfLife != halfLife {
			l.halfLife = halfLife
			for _, m := range l.members {
				m.Advance(was, ms)
				m.Rescale(was, l.clock())
			}
			l.tick = l.clock().At(ms)
		}
		held, pending := t.usageMembers(c, q, kind)
		for name := range held {
			if l.members[name] == nil {
				l.members[name] = &usageMember{}
			}
			l.members[name].there = true
		}
		for name, m := range l.members {
			amounts, there := held[name]
			m.Hold(l.clock(), ms, t.cost(amounts))
			if !there && m.there && kind == fairness.Applications {
				delete(l.members, name)
			}
			m.there = there
		}
		for name, m := range l.members {
			unused := m.Past.IsZero() && m.Partial == 0 && m.Held == 0
			child := find(q.children, func(c *queue) bool { return c.conf.Name == name })
			if pending[name] && !m.active && unused && !begins && (child == nil || !child.managed) {
				m.Past = t.firstPlace(q, l, kind, pending, name)
			}
		}
		for name, m := range l.members {
			m.active = pending[name] || m.Held > 0
		}
	})
	for path, l := range t.usage { // of queues that were removed
		if q := t.queue(path); q == nil || q.path != path {
			for name, m := range l.members {
				if m.there && l.kind == fairness.Applications {
					delete(l.members, name)
				}
				m.Hold(l.clock(), ms, 0)
				m.there, m.active = false, false
			}
		}
	}
}

// firstPlace returns the history with which a member begins: that of the last application that waits, or of the first
// dynamic queue or user that is active (FAI-6).
func (t *Twin) firstPlace(q *queue, l *usageLevel, kind fairness.Kind, pending map[string]bool,
	self string) decay.Number {
	var place *decay.Number
	for name, m := range l.members {
		if name == self || !m.active || kind == fairness.Applications && !pending[name] {
			continue
		}
		key := t.usageKey(q, name)
		if place == nil || kind == fairness.Applications && key.Compare(*place) > 0 ||
			kind != fairness.Applications && key.Compare(*place) < 0 {
			place = &key
		}
	}
	if place == nil {
		return decay.Number{}
	}
	return place.Times(t.usageWeight(q, self))
}

// usageKey returns by what a member of a level is compared (FAI-4); 0 if q is none.
func (t *Twin) usageKey(q *queue, name string) decay.Number {
	l := t.usage[q.path]
	if _, is := overTime(q); !is || l == nil || l.members[name] == nil {
		return decay.Number{}
	}
	m, tick := l.members[name], l.clock().At(t.now.UnixMilli())
	held := decay.Of(m.Held).Times(decay.Of(uint64(l.halfLife / 20)).Times(decay.Growth(tick)))
	return m.Through(l.clock(), tick).Plus(held).Over(t.usageWeight(q, name))
}

// usageWeight returns the weight of a child of q; 1 of all else (FAI-5).
func (t *Twin) usageWeight(q *queue, name string) decay.Number {
	child := find(q.children, func(c *queue) bool { return c.conf.Name == name })
	if !q.conf.Parent || child == nil {
		return decay.Of(1)
	}
	w, ok := child.conf.Fairness.Weight.Thousandths()
	if ok {
		return decay.Of(w).Over(decay.Of(1000))
	}
	guaranteed := resources.FromMap(child.guaranteed().Map())
	return decay.Of(max(t.cost(guaranteed), 1<<32/1000)).Over(decay.Of(1 << 32))
}

// forgetUsage ends what the RM has: it registers again. The histories stay, also those of applications.
func (t *Twin) forgetUsage() {
	defer func() { t.prices = resources.Amounts{} }() // until the next decision
	for _, l := range t.usage {
		for name, m := range l.members {
			l.members[name] = &usageMember{History: decay.History{Past: m.Rest(l.clock(), t.now.UnixMilli())}}
		}
	}
}

// restoreUsage takes the histories of a former process.
func (t *Twin) restoreUsage(list []fairness.Kept) {
	for _, k := range list {
		l := t.usage[k.Queue]
		if l == nil {
			l = &usageLevel{kind: k.Kind, halfLife: k.HalfLife, members: map[string]*usageMember{}}
			l.tick = l.clock().At(t.now.UnixMilli())
			t.usage[k.Queue] = l
		}
		if l.kind != k.Kind || l.members[k.Name] != nil {
			continue
		}
		m := &usageMember{History: decay.History{Past: decay.Number{Mantissa: k.Mantissa, Exponent: k.Exponent}}}
		if was := decay.NewClock(k.HalfLife); was != l.clock() {
			m.Advance(was, t.now.UnixMilli())
			m.Rescale(was, l.clock())
		}
		l.members[k.Name] = m
	}
}

// forgetTinyUsage forgets, when a half-life is over, what is gone and has fallen to a millionth of the cluster for a
// half-life (FAI-7).
func (t *Twin) forgetTinyUsage() {
	t.followUsage()
	for _, l := range t.usage {
		tick := l.clock().At(t.now.UnixMilli())
		tiny := decay.Of(uint64(l.halfLife)).Times(decay.Of(1 << 32 >> 20)).Times(decay.Growth(l.tick))
		for name, m := range l.members {
			if tick/decay.PerHalfLife > l.tick/decay.PerHalfLife && !m.there && m.Through(l.clock(), l.tick).Compare(tiny) < 0 {
				delete(l.members, name)
			}
		}
		l.tick = max(l.tick, tick)
	}
}

// reprice has what is held cost what it does in the cluster of now, before a decision.
func (t *Twin) reprice() {
	c := t.total()
	t.prices = c.capacity
	t.fairnessWeights = t.configuredWeights
	t.followUsage()
}

func (t *Twin) eachQueue(q *queue, do func(*queue)) {
	do(q)
	for _, c := range q.children {
		t.eachQueue(c, do)
	}
}

// usageDifference compares the usage over time with that of a Core; empty: they agree.
func (t *Twin) usageDifference(list []fairness.Kept) string {
	var want []fairness.Kept
	for path, l := range t.usage {
		for name, m := range l.members {
			if past := m.Rest(l.clock(), t.now.UnixMilli()); !past.IsZero() {
				want = append(want, fairness.Kept{Queue: path, Kind: l.kind, Name: name, HalfLife: l.halfLife,
					Mantissa: past.Mantissa, Exponent: past.Exponent})
			}
		}
	}
	slices.SortFunc(want, func(a, b fairness.Kept) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name))
	})
	for i, k := range want {
		if i >= len(list) || list[i] != k {
			return fmt.Sprintf("usage over time: the core has %+v, the twin %+v", list[min(i, len(list)):], want[i:])
		}
	}
	if len(list) > len(want) {
		return fmt.Sprintf("usage over time: the core also has %+v", list[len(want):])
	}
	return ""
}

// usageKeyDifference compares the keys by which what is pending is ordered by usage over time, when nothing is left to
// decide; empty: they agree.
func (t *Twin) usageKeyDifference(p *objects.Partition) (difference string) {
	t.eachQueue(t.root, func(q *queue) {
		is, known := p.Queue(q.path)
		if _, ordered := overTime(q); !ordered || !known {
			return
		}
		for c := range is.OrderedChildren() {
			if got, want := c.OrderKey().Usage, t.usageKey(q, c.Name()); got != want {
				difference = fmt.Sprintf("queue %s has the key %v, and in the twin %v", c.Path(), got, want)
			}
		}
		c := t.total()
		for a := range is.OrderedApplications() {
			if got, want := a.OrderKey().Usage, t.appKey(c, t.app(a.ID())).Usage; got != want {
				difference = fmt.Sprintf("application %s has the key %v, and in the twin %v", a.ID(), got, want)
			}
		}
	})
	return difference
}
