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

// of is the state of a partition as it is now or later.
func (s *snapshots) of(ctx context.Context, l *loop.Loop) (*scheduler.Snapshot, error) {
	g := s.groups.on(l, func() *coalesce.Group[*scheduler.Snapshot] {
		return &coalesce.Group[*scheduler.Snapshot]{Pause: readPause}
	})
	return g.Do(ctx, l.Snapshot)
}

// perLoop has one T for each partition.
type perLoop[T any] struct {
	mu  sync.Mutex
	all map[*loop.Loop]*T
}

func (p *perLoop[T]) on(l *loop.Loop, create func() *T) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[*loop.Loop]*T{}
	}
	x := p.all[l]
	if x == nil {
		for old := range p.all {
			if old.Health().Ended { // another partition may have its name by now
				delete(p.all, old)
			}
		}
		x = create()
		p.all[l] = x
	}
	return x
}

// derived is something that is computed from a whole snapshot, once for all readers of it, for
// each partition. The zero value is ready for use.
type derived[T any] struct{ all perLoop[derivation[T]] }

// derivation is that of one partition. Only the function that the group runs touches last and of.
type derivation[T any] struct {
	group coalesce.Group[T]
	of    *scheduler.Snapshot // nil: last is not known
	last  T
}

// readPause is the rest after computing something, as a multiple of the time that took: however
// many readers want it, it takes a quarter of one processor at most.
const readPause = 3

// get is what compute makes of the state of a partition, as it is now or later. last is what it
// made for an earlier snapshot, or the zero value; with keep false it is forgotten.
func (d *derived[T]) get(ctx context.Context, from *snapshots, l *loop.Loop, compute func(ctx context.Context, snap *scheduler.Snapshot, last T) (value T, keep bool, err error)) (T, error) {
	on := d.on(l)
	return on.group.Do(ctx, func(ctx context.Context) (T, error) {
		snap, err := from.of(ctx, l)
		if err != nil || snap == on.of {
			return on.last, err
		}
		value, keep, err := compute(ctx, snap, on.last)
		if err != nil {
			var none T
			return none, err
		}
		if on.of, on.last = snap, value; !keep {
			var none T
			on.of, on.last = nil, none
		}
		return value, nil
	})
}

func (d *derived[T]) on(l *loop.Loop) *derivation[T] {
	return d.all.on(l, func() *derivation[T] { return &derivation[T]{group: coalesce.Group[T]{Pause: readPause}} })
}
