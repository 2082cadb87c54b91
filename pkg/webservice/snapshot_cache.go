package webservice

import (
	"context"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/server/coalesce"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// snapshots shares snapshots between all readers. One is requested at a time for each partition, after
// its readers came, followed by a pause of three times its duration (OBS-3). The zero value is ready
// for use.
type snapshots struct {
	groups perLoop[coalesce.Group[*scheduler.Snapshot]]
}

// get returns a snapshot of a partition that is not older than the call.
func (s *snapshots) get(ctx context.Context, l *loop.Loop) (*scheduler.Snapshot, error) {
	g := s.groups.get(l, func() *coalesce.Group[*scheduler.Snapshot] {
		return &coalesce.Group[*scheduler.Snapshot]{Pause: readPauseFactor}
	})
	return g.Do(ctx, l.Snapshot)
}

// perLoop has one T for each partition; those of ended partitions are dropped.
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
			if old.Health().Ended { // a new partition may have the same name
				delete(p.byLoop, old)
			}
		}
		x = create()
		p.byLoop[l] = x
	}
	return x
}

// snapshotCache caches a value that is computed from a snapshot, one for each partition, and shares it
// between all readers. The zero value is ready for use.
type snapshotCache[T any] struct {
	byLoop perLoop[snapshotCacheEntry[T]]
}

// snapshotCacheEntry is the cache of one partition. Only the function that group runs uses snapshot and last.
type snapshotCacheEntry[T any] struct {
	group    coalesce.Group[T]
	snapshot *scheduler.Snapshot // nil: there is no last value
	last     T
}

// readPauseFactor is the pause after a computation for readers, as a multiple of its duration: it takes
// a quarter of one processor at most, for any number of readers.
const readPauseFactor = 3

// get returns the value of a snapshot that is not older than the call. compute gets the last value, or
// the zero value; keep: its result is kept.
func (d *snapshotCache[T]) get(ctx context.Context, from *snapshots, l *loop.Loop,
	compute func(ctx context.Context, snap *scheduler.Snapshot, last T) (value T, keep bool, err error)) (T, error) {
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
		on.snapshot, on.last = snap, value
		if !keep {
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
