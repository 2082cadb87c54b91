package webservice

import (
	"context"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/coalesce"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// snapshots are the states of the partitions, shared by all readers: one is asked for at a time,
// begun after its readers came, and the loop rests from them three times as long as one took. The
// zero value is ready for use.
type snapshots struct {
	groups perLoop[coalesce.Group[*scheduler.Snapshot]]
}

// get is the state of a partition as it is now or later.
func (s *snapshots) get(ctx context.Context, l *loop.Loop) (*scheduler.Snapshot, error) {
	g := s.groups.get(l, func() *coalesce.Group[*scheduler.Snapshot] {
		return &coalesce.Group[*scheduler.Snapshot]{Pause: readPauseFactor}
	})
	return g.Do(ctx, l.Snapshot)
}

// perLoop has one T for each partition.
type perLoop[T any] struct {
	mu     sync.Mutex
	byLoop map[*loop.Loop]*T
}

func (p *perLoop[T]) get(l *loop.Loop, create func() *T) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byLoop == nil {
		p.byLoop = map[*loop.Loop]*T{}
	}
	x := p.byLoop[l]
	if x == nil {
		for old := range p.byLoop {
			if old.Health().Ended { // another partition may have its name by now
				delete(p.byLoop, old)
			}
		}
		x = create()
		p.byLoop[l] = x
	}
	return x
}

// snapshotCache is something that is computed from a whole snapshot, once for all readers of it, for
// each partition. The zero value is ready for use.
type snapshotCache[T any] struct {
	byLoop perLoop[snapshotCacheEntry[T]]
}

// snapshotCacheEntry is that of one partition. Only the function that the group runs touches last and of.
type snapshotCacheEntry[T any] struct {
	group    coalesce.Group[T]
	snapshot *scheduler.Snapshot // nil: last is not known
	last     T
}

// readPauseFactor is the rest after computing something, as a multiple of the time that took: however
// many readers want it, it takes a quarter of one processor at most.
const readPauseFactor = 3

// get is what compute makes of the state of a partition, as it is now or later. last is what it
// made for an earlier snapshot, or the zero value; with keep false it is forgotten.
func (d *snapshotCache[T]) get(ctx context.Context, from *snapshots, l *loop.Loop, compute func(ctx context.Context, snap *scheduler.Snapshot, last T) (value T, keep bool, err error)) (T, error) {
	on := d.entry(l)
	return on.group.Do(ctx, func(ctx context.Context) (T, error) {
		snap, err := from.get(ctx, l)
		if err != nil || snap == on.snapshot {
			return on.last, err
		}
		value, keep, err := compute(ctx, snap, on.last)
		if err != nil {
			var none T
			return none, err
		}
		if on.snapshot, on.last = snap, value; !keep {
			var none T
			on.snapshot, on.last = nil, none
		}
		return value, nil
	})
}

func (d *snapshotCache[T]) entry(l *loop.Loop) *snapshotCacheEntry[T] {
	return d.byLoop.get(l, func() *snapshotCacheEntry[T] {
		return &snapshotCacheEntry[T]{group: coalesce.Group[T]{Pause: readPauseFactor}}
	})
}
