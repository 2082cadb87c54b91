package durations

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Bounds of what is kept.
const (
	Kept      = 256       // durations of a group: the last ones
	MaxGroups = 2_000     // of a partition: the group with the earliest last end is forgotten first
	maxStarts = 1_000_000 // running allocations of a partition whose start is kept; of further ones nothing is learnt
)

// Key names a group: a queue with all queues below it and, with a Value, only the applications with that value of the
// tag.
type Key struct {
	Queue objects.QueuePath
	Value string // empty: all applications
}

// Chain returns the groups of an application in a leaf, the smallest first and root last. value is that of its tag;
// empty: it has none.
func Chain(leaf objects.QueuePath, value string) (keys []Key) {
	if value != "" {
		keys = append(keys, Key{leaf, value})
	}
	for path := string(leaf); ; {
		keys = append(keys, Key{Queue: objects.QueuePath(path)})
		dot := strings.LastIndexByte(path, '.')
		if dot < 0 {
			return keys
		}
		path = path[:dot]
	}
}

// Ended is an allocation that has ended.
type Ended struct {
	At       time.Time     // when it ended
	Duration time.Duration // how long it ran, not below 0
}

// Store holds what was learnt in all partitions. It is safe for concurrent use.
type Store struct {
	tag string
	now func() time.Time

	mu         sync.Mutex // guards the following
	partitions map[string]*partition
}

// partition holds what was learnt in a partition.
type partition struct {
	since time.Time // when learning began
	// when the last reset was, or learning began: what was created before may have run before
	reset   time.Time
	removed objects.NodeID          // the node that was removed last: allocations that end on it are lost with it
	chains  map[objects.AppID][]Key // the groups of each application, see Chain
	starts  map[objects.AllocationKey]start
	groups  map[Key]*group
	byEnd   list.List // the Key of each group, in the order of last ends
	forgot  bool      // groups were forgotten since learning began
}

// start is a running allocation.
type start struct {
	at     time.Time
	node   objects.NodeID
	groups []Key // the Chain of its application
}

// group is the last durations of a group: a ring.
type group struct {
	ring  []Ended
	next  int           // where the next one goes, once ring is full
	since time.Time     // from which on every end was learnt
	place *list.Element // of partition.byEnd
}

// New returns a Store that knows nothing. tag is the tag of applications by which they are grouped; empty: by queue
// only. now is the clock of the partitions.
func New(tag string, now func() time.Time) *Store {
	return &Store{tag: tag, now: now, partitions: map[string]*partition{}}
}

// ValueOf returns the value of the tag in the tags of an application; empty: none.
func (s *Store) ValueOf(tags map[string]string) string {
	if s.tag == "" {
		return ""
	}
	return tags[s.tag]
}

// Tag returns the tag of applications by which they are grouped; empty: by queue only.
func (s *Store) Tag() string { return s.tag }

// OnEffects learns from effects of a partition, in order (EXP-10).
func (s *Store) OnEffects(name string, effects []scheduler.Effect) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partitions[name]
	if p == nil {
		p = &partition{since: now, reset: now, groups: map[Key]*group{}}
		p.forget()
		s.partitions[name] = p
	}
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.PartitionReset:
			p.reset = now
			p.forget()
		case scheduler.ApplicationAccepted:
			p.chains[objects.AppID(strings.Clone(string(e.App)))] = Chain(e.Queue, strings.Clone(s.ValueOf(e.Tags)))
		case scheduler.ApplicationUpdated:
			if e.State == lifecycle.Completed || e.State == lifecycle.Failed {
				delete(p.chains, e.App)
			}
		case scheduler.OperatorActed:
			if groups := p.chains[e.App]; e.Action == scheduler.MoveApplication && groups != nil {
				p.chains[e.App] = Chain(e.Queue, groups[0].Value) // what runs counts for the leaf in which it was placed
			}
		case scheduler.NodeAccepted:
			p.removed = ""
		case scheduler.NodeChanged:
			if e.Change == scheduler.NodeRemoved {
				p.removed = objects.NodeID(strings.Clone(string(e.Node)))
			}
		case scheduler.Allocated:
			p.begin(e.Binding, now)
		case scheduler.Released:
			p.end(e, now)
		}
	}
}

// forget drops what runs, and keeps what has ended.
func (p *partition) forget() {
	p.chains, p.starts = map[objects.AppID][]Key{}, map[objects.AllocationKey]start{}
}

// begin notes the start of an allocation. One that was created before the last reset is reported, perhaps, and has run
// for an unknown time; a placeholder does no work.
func (p *partition) begin(b *scheduler.Binding, now time.Time) {
	ask := b.Ask
	groups, known := p.chains[ask.App]
	reported := !ask.Created.IsZero() && ask.Created.Time().Before(p.reset)
	if !known || reported || ask.Placeholder || len(p.starts) >= maxStarts {
		return
	}
	p.starts[objects.AllocationKey(strings.Clone(string(ask.Key)))] = start{now,
		objects.NodeID(strings.Clone(string(b.Node))), groups}
}

// end learns the duration of an allocation that the resource manager has ended. How long one would have run that the
// scheduler has ended, or that was lost with its node, is not known.
func (p *partition) end(e scheduler.Released, now time.Time) {
	x, known := p.starts[e.Key]
	if !known {
		return
	}
	delete(p.starts, e.Key)
	if e.Type != scheduler.StoppedByRM && e.Type != scheduler.Unspecified || x.node == p.removed {
		return
	}
	for _, key := range x.groups {
		p.group(key, now).add(Ended{now, max(0, now.Sub(x.at))})
	}
}

// group returns the group of a key, which is about to get an end. A new group replaces the one with the earliest last
// end, if there are MaxGroups: the same work however many there are, since a release may come here for each queue above
// the application.
func (p *partition) group(key Key, now time.Time) *group {
	if g := p.groups[key]; g != nil {
		p.byEnd.MoveToBack(g.place)
		return g
	}
	if len(p.groups) >= MaxGroups {
		delete(p.groups, p.byEnd.Remove(p.byEnd.Front()).(Key))
		p.forgot = true
	}
	g := &group{since: p.since, place: p.byEnd.PushBack(key)}
	if p.forgot {
		g.since = now // the group may be one that was forgotten
	}
	p.groups[key] = g
	return g
}

func (g *group) add(x Ended) {
	if len(g.ring) < Kept {
		g.ring = append(g.ring, x)
		return
	}
	g.ring[g.next] = x
	g.next = (g.next + 1) % Kept
}

// Known are the durations that a group has, the oldest first, and the time from which on every end is among them.
type Known struct {
	Ended []Ended
	Since time.Time
}

// Known returns the durations of a group of a partition; none: nothing was learnt of it.
func (s *Store) Known(name string, key Key) Known {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partitions[name]
	if p == nil {
		return Known{Since: s.now()}
	}
	k := Known{Since: p.since}
	if g := p.groups[key]; g != nil {
		k.Ended, k.Since = append(append(k.Ended, g.ring[g.next:]...), g.ring[:g.next]...), g.since
	}
	if len(k.Ended) == Kept {
		k.Since = k.Ended[0].At
	}
	return k
}

// Reset returns the time at which the partition was last reset: an allocation that was bound before is not learnt from.
func (s *Store) Reset(name string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.partitions[name]; p != nil {
		return p.reset
	}
	return s.now()
}
