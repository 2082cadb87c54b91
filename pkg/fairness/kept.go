package fairness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Kept is a history that outlives the process: of a child, an application or a user of a queue (FAI-7).
type Kept struct {
	Queue    objects.QueuePath `json:"queue"` // the parent, or the leaf
	Kind     Kind              `json:"kind"`
	Name     string            `json:"name"`
	HalfLife int64             `json:"halfLife"` // milliseconds
	Mantissa uint64            `json:"mantissa"` // of the usage, scaled: it stays while nothing is used
	Exponent int32             `json:"exponent"`
}

// Kind says what is compared directly below a queue.
type Kind string

// The kinds.
const (
	Queues       Kind = "queue"
	Applications Kind = "application"
	Users        Kind = "user"
)

// kind returns what l compares.
func (l *level) kind() Kind {
	switch {
	case !l.leaf:
		return Queues
	case l.by == policies.FairByUser:
		return Users
	}
	return Applications
}

// Validate returns what is wrong with a history that was read; nil: nothing.
func (k *Kept) Validate() error {
	n := decay.Number{Mantissa: k.Mantissa, Exponent: k.Exponent}
	least, most := policies.MinHalfLife.Milliseconds(), policies.MaxHalfLife.Milliseconds()
	switch {
	case k.Kind != Queues && k.Kind != Applications && k.Kind != Users:
		return fmt.Errorf("%s in %s: there is no kind %q", k.Name, k.Queue, k.Kind)
	case k.HalfLife < least || k.HalfLife > most:
		return fmt.Errorf("%s in %s: a half-life of %d ms is not from %d to %d", k.Name, k.Queue, k.HalfLife, least, most)
	case !n.Valid():
		return fmt.Errorf("%s in %s: the usage is out of range", k.Name, k.Queue)
	}
	return nil
}

// Kept returns all histories with usage, as of now, in the order of queues and names.
func (eng *Engine) Kept(now time.Time) []Kept {
	var list []Kept
	for _, former := range eng.former {
		list = append(list, former...)
	}
	for _, l := range eng.order {
		for _, m := range l.members {
			if k := m.kept(max(eng.now, now.UnixMilli())); k.Mantissa != 0 {
				list = append(list, k)
			}
		}
	}
	slices.SortFunc(list, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), strings.Compare(a.Name, b.Name))
	})
	return list
}

// kept returns the history of m as of a time.
func (m *member) kept(ms int64) Kept {
	l := m.level
	past := m.history.Rest(l.clock, ms)
	return Kept{l.path, l.kind(), m.name, l.halfLife, past.Mantissa, past.Exponent}
}

// Restore takes the histories that a former process has kept. Requires: nothing was submitted yet, and each is valid.
func (eng *Engine) Restore(list []Kept) {
	for _, k := range list {
		eng.former[k.Queue] = append(eng.former[k.Queue], k)
	}
	for _, l := range eng.order {
		eng.restoreFormer(l)
	}
	eng.repriced, eng.changed = true, true
}

// restoreFormer gives a level its former histories. What the level has itself goes before.
func (eng *Engine) restoreFormer(l *level) {
	for _, k := range eng.former[l.path] {
		if k.Kind != l.kind() {
			continue
		}
		m := l.member(k.Name)
		if m.unused() {
			h := decay.History{Past: decay.Number{Mantissa: k.Mantissa, Exponent: k.Exponent}}
			if was := decay.NewClock(k.HalfLife); was != l.clock {
				h.Advance(was, max(eng.now, h.At))
				h.Rescale(was, l.clock)
			}
			m.history = h
		}
	}
	delete(eng.former, l.path)
}

// What is forgotten: a member that is gone, when its usage has fallen to a millionth of what the whole cluster has for
// a half-life, and the least of more than mostGone of a level.
const (
	tiny     = whole >> 20
	mostGone = 10_000
)

// forget removes the histories of members that are gone and count for nothing (FAI-7). It is called once a half-life.
func (eng *Engine) forget(l *level) {
	most := decay.Of(uint64(l.halfLife)).Times(decay.Of(tiny)).Times(decay.Growth(l.tick))
	var gone []*member
	for _, name := range slices.Sorted(maps.Keys(l.members)) {
		m := l.members[name]
		if m.active || m.history.Held > 0 || len(m.apps) > 0 || m.queue != nil && eng.exists(m.queue) {
			continue
		}
		delete(eng.queues, m.queue)
		m.queue = nil // the memory of the removed queue
		if m.history.Through(l.clock, l.tick).Compare(most) < 0 {
			eng.remove(m)
		} else {
			gone = append(gone, m)
		}
	}
	if len(gone) > mostGone {
		slices.SortStableFunc(gone, func(a, b *member) int { return b.history.Past.Compare(a.history.Past) })
		for _, m := range gone[mostGone:] {
			eng.remove(m)
		}
	}
}

func (eng *Engine) exists(q *objects.Queue) bool {
	known, ok := eng.part.Queue(q.Path())
	return ok && known == q
}

func (eng *Engine) remove(m *member) {
	if m.index >= 0 {
		eng.stopped(m)
	}
	delete(m.level.members, m.name)
	delete(eng.queues, m.queue)
}
