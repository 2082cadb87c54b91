package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// patience is how long any one answer of a scheduler may take. Longer is a failure, not
// a measurement.
const patience = time.Minute

// ear is what a resource manager hears, whichever the door. Doors call it from one
// goroutine at a time.
type ear struct {
	mu      sync.Mutex // guards the rest
	nodes   int        // accepted
	apps    int        // accepted
	refused int        // of the asks that had to be
	failed  error      // what should not have been said
	placed  int
	// heard is told of every allocation and every release by the number of its ask, with
	// the lock held; nil: nobody listens.
	heard func(number int, allocated bool)
	news  chan struct{} // holds one token when something was told
}

func newEar() *ear { return &ear{news: make(chan struct{}, 1)} }

// lock takes the ear for one message. unlock tells who waits.
func (e *ear) lock() { e.mu.Lock() }

func (e *ear) unlock() {
	e.mu.Unlock()
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// allocation takes in one allocation, or a release. Requires: the ear is locked.
func (e *ear) allocation(number int, allocated bool) {
	if allocated {
		e.placed++
	}
	if e.heard != nil {
		e.heard(number, allocated)
	}
}

// protest notes the first thing that cannot be. Requires: the ear is locked.
func (e *ear) protest(format string, args ...any) {
	if e.failed == nil {
		e.failed = fmt.Errorf(format, args...)
	}
}

// listen replaces who is told. Placements are counted anew.
func (e *ear) listen(heard func(number int, allocated bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard, e.placed = heard, 0
}

// await blocks until done, which is called with the lock held, or something went wrong.
// what is awaited goes into the error.
func (e *ear) await(ctx context.Context, what string, done func() bool) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		e.mu.Lock()
		ok, failed := done(), e.failed
		e.mu.Unlock()
		switch {
		case failed != nil:
			return fmt.Errorf("waiting for %s: %w", what, failed)
		case ok:
			return nil
		}
		select {
		case <-e.news:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("waiting for %s: nothing after %v", what, patience)
		}
	}
}

// sentinel starts the keys of asks that must be refused: hearing so means that all that
// was said before has been taken.
const (
	sentinel    = "sentinel"
	sentinelApp = objects.AppID("nobody")
)
