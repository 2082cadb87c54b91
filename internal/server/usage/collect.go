package usage

import (
	"context"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Tree is the queues of a snapshot with what is added up from their applications. A queue that is unchanged in the next
// snapshot is not visited again. It is immutable.
type Tree struct {
	View        *scheduler.QueueView
	PendingAsks int
	Oldest      time.Time // when the oldest pending ask was made; zero: none is pending
	Children    []*Tree   // in path order

	users, groups map[string]*holder // of a leaf
}

// holder holds what a user or a group has in a leaf.
type holder struct {
	allocated, pending resources.Total
	asks, running      int
}

// TreeOf adds up the queues of a snapshot. before is the Tree of an earlier one; nil: there is none. It takes a slot of
// the readers.
func TreeOf(ctx context.Context, snap *scheduler.Snapshot, before *Tree) *Tree {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	return treeOf(snap.Root, before, slot)
}

// Each yields t and all below it.
func (t *Tree) Each(yield func(*Tree)) {
	yield(t)
	for _, c := range t.Children {
		c.Each(yield)
	}
}

func treeOf(q *scheduler.QueueView, before *Tree, slot *cpushare.Slot) *Tree {
	slot.Yield()
	if before != nil && before.View == q {
		return before
	}
	t := &Tree{View: q}
	at := 0
	for child := range q.Children.All() {
		var old *Tree
		if before != nil {
			for at < len(before.Children) && before.Children[at].View.Path < child.Path {
				at++
			}
			if at < len(before.Children) && before.Children[at].View.Path == child.Path {
				old = before.Children[at]
			}
		}
		c := treeOf(child, old, slot)
		t.Children = append(t.Children, c)
		t.PendingAsks += c.PendingAsks
		t.Oldest = earliest(t.Oldest, c.Oldest)
	}
	for a := range q.Applications.All() {
		t.add(a)
	}
	return t
}

// earliest returns the earlier of two times; zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// add adds an application of the leaf.
func (t *Tree) add(a *scheduler.ApplicationView) {
	asks := 0
	for x := range a.Allocations.All() {
		if x.Node == "" {
			asks++
			t.Oldest = earliest(t.Oldest, x.Created)
		}
	}
	t.PendingAsks += asks
	t.users = addHolder(t.users, a.User.Name, a, asks)
	t.groups = addHolder(t.groups, a.LimitGroup, a, asks)
}

// addHolder adds an application to those of a user or group; an empty name is none.
func addHolder(to map[string]*holder, name string, a *scheduler.ApplicationView, asks int) map[string]*holder {
	if name == "" {
		return to
	}
	if to == nil {
		to = map[string]*holder{}
	}
	h := to[name]
	if h == nil {
		h = new(holder)
		to[name] = h
	}
	h.allocated.Add(a.Allocated)
	h.allocated.Add(a.Placeholders)
	h.pending.Add(a.Pending)
	h.asks += asks
	if a.State == lifecycle.Running {
		h.running++
	}
	return to
}

// SampleOf returns the Sample of a snapshot with its Tree (USG-1).
func SampleOf(snap *scheduler.Snapshot, t *Tree) *Sample {
	s := &Sample{Partition: snap.Partition, At: snap.At, Values: map[Key]*Values{}}
	owed := map[*scheduler.QueueView]resources.Amounts{}
	Owed(snap.Root, func(q *scheduler.QueueView, part resources.Amounts) { owed[q] = part })
	s.addTree(t, owed)
	return s
}

func (s *Sample) addTree(t *Tree, owed map[*scheduler.QueueView]resources.Amounts) {
	q := t.View
	v := &Values{
		Allocated: AmountsOf(q.Allocated), Owed: AmountsOf(owed[q]), Pending: AmountsOf(q.Pending),
		PendingAsks: float64(t.PendingAsks), Running: float64(q.Running),
	}
	for name, n := range q.Guaranteed.All() {
		v.Guaranteed = v.Guaranteed.addTimes(Amounts{name: float64(n)}, 1)
	}
	s.Values[Key{Queue, string(q.Path)}] = v
	for name, h := range t.users {
		s.addHolder(Key{User, name}, h)
	}
	for name, h := range t.groups {
		s.addHolder(Key{Group, name}, h)
	}
	for _, c := range t.Children {
		s.addTree(c, owed)
	}
}

// addHolder adds what a user or group has in one more leaf.
func (s *Sample) addHolder(k Key, h *holder) {
	v := s.Values[k]
	if v == nil {
		v = &Values{}
		s.Values[k] = v
	}
	v.AddTimes(&Values{
		Allocated: AmountsOf(h.allocated.Amounts()), Pending: AmountsOf(h.pending.Amounts()),
		PendingAsks: float64(h.asks), Running: float64(h.running),
	}, 1)
}
