package webservice

import (
	"context"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/coalesce"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// derived is something that is computed from a whole snapshot, once for all readers of it, for
// each partition. The zero value is ready for use.
type derived[T any] struct {
	mu  sync.Mutex
	all map[*loop.Loop]*derivation[T]
}

// derivation is that of one partition. Only the function that the group runs touches last and of.
type derivation[T any] struct {
	group coalesce.Group[T]
	of    *scheduler.Snapshot // nil: last is not known
	last  T
}

// encodePause is the rest after computing something, as a multiple of the time that took: however
// many readers want it, it takes a quarter of one processor at most.
const encodePause = 3

// get is what compute makes of the state of a partition, as it is now or later. last is what it
// made for an earlier snapshot, or the zero value; with keep false it is forgotten.
func (d *derived[T]) get(ctx context.Context, l *loop.Loop, compute func(ctx context.Context, snap *scheduler.Snapshot, last T) (value T, keep bool, err error)) (T, error) {
	on := d.on(l)
	return on.group.Do(ctx, func(ctx context.Context) (T, error) {
		snap, err := l.Snapshot(ctx)
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[*loop.Loop]*derivation[T]{}
	}
	x := d.all[l]
	if x == nil {
		for old := range d.all {
			if old.Health().Ended { // another partition may have its name by now
				delete(d.all, old)
			}
		}
		x = &derivation[T]{group: coalesce.Group[T]{Pause: encodePause}}
		d.all[l] = x
	}
	return x
}
