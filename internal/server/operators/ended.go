package operators

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// ended knows the partitions in which an application has ended that the Store has.
type ended struct {
	mu         sync.Mutex
	watched    map[string]map[objects.AppID]bool // the applications in the Store, by partition
	partitions map[string]bool                   // those in which one has ended
	wake       chan struct{}                     // holds a token if there are some
}

func newEnded() ended {
	return ended{watched: map[string]map[objects.AppID]bool{}, partitions: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// watch replaces the applications in the Store.
func (e *ended) watch(in map[string][]objects.AppID) {
	watched := make(map[string]map[objects.AppID]bool, len(in))
	for partition, ids := range in {
		if len(ids) > 0 {
			watched[partition] = make(map[objects.AppID]bool, len(ids))
		}
		for _, id := range ids {
			watched[partition][id] = true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watched = watched
}

// take returns the partitions in which an application has ended since the last call, and with all every partition that
// has applications in the Store.
func (e *ended) take(all bool) (names []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name := range e.watched {
		if all || e.partitions[name] {
			names = append(names, name)
		}
	}
	clear(e.partitions)
	slices.Sort(names)
	return names
}

// OnEffects gets the effects of a partition where they are delivered. It notes that an application has ended that the
// Store has, and does not wait.
func (o *Operators) OnEffects(partition string, effects []scheduler.Effect) {
	e := &o.ended
	e.mu.Lock()
	defer e.mu.Unlock()
	watched := e.watched[partition]
	if len(watched) == 0 {
		return
	}
	for i := range effects {
		u, is := effects[i].(scheduler.ApplicationUpdated)
		if is && watched[u.App] && (u.State == lifecycle.Completed || u.State == lifecycle.Failed) {
			e.partitions[partition] = true
			select {
			case e.wake <- struct{}{}:
			default: // there is a token
			}
		}
	}
}

// checkInterval is the time after which the Store is compared even if no application was seen to end: one that never
// had an ask has no state when it is removed, and what could not be stored is tried again.
const checkInterval = time.Minute

// Run removes applications that have ended from the Store, until ctx ends (OPS-4). failed is called with each error.
func (o *Operators) Run(ctx context.Context, failed func(error)) {
	if o.kept == nil {
		return
	}
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		all := false
		select {
		case <-o.ended.wake:
		case <-ticker.C:
			all = true
		case <-ctx.Done():
			return
		}
		for _, partition := range o.ended.take(all) {
			if err := o.refresh(ctx, partition); err != nil && ctx.Err() == nil {
				failed(fmt.Errorf("partition %s: %w", partition, err))
			}
		}
	}
}

// refresh stores what operators have switched in a partition, if the Store has something else. A partition that is gone
// keeps what the Store has.
func (o *Operators) refresh(ctx context.Context, partition string) error {
	if err := o.begin(ctx); err != nil {
		return err
	}
	defer o.end()
	l, ok := o.partition(partition)
	if !ok {
		return nil
	}
	return o.store(ctx, partition, l)
}
