package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// answerTimeout is how long any one answer of a scheduler may take. Longer is a failure, not
// a measurement.
const answerTimeout = time.Minute

// recorder is what a resource manager hears, whichever the door. Doors call it from one
// goroutine at a time.
type recorder struct {
	mu                sync.Mutex // guards the rest
	nodes             int        // accepted
	apps              int        // accepted
	rejectedSentinels int        // of the asks that had to be
	failed            error      // what should not have been said
	placed            int
	// observer is told of every allocation and every release by the number of its ask, with
	// the lock held; nil: nobody listens.
	observer func(number int, allocated bool)
	changed  chan struct{} // holds one token when something was told
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{}, 1)} }

// lock takes the ear for one message. unlock tells who waits.
func (e *recorder) lock() { e.mu.Lock() }

func (e *recorder) unlock() {
	e.mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// record takes in one allocation, or a release. Requires: the ear is locked.
func (e *recorder) record(number int, allocated bool) {
	if allocated {
		e.placed++
	}
	if e.observer != nil {
		e.observer(number, allocated)
	}
}

// fail notes the first thing that cannot be. Requires: the ear is locked.
func (e *recorder) fail(format string, args ...any) {
	if e.failed == nil {
		e.failed = fmt.Errorf(format, args...)
	}
}

// setObserver replaces who is told. Placements are counted anew.
func (e *recorder) setObserver(observer func(number int, allocated bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observer, e.placed = observer, 0
}

// await blocks until done, which is called with the lock held, or something went wrong.
// what is awaited goes into the error.
func (e *recorder) await(ctx context.Context, what string, done func() bool) error {
	late := time.NewTimer(answerTimeout)
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
		case <-e.changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("waiting for %s: nothing after %v", what, answerTimeout)
		}
	}
}

// sentinel starts the keys of asks that must be refused: hearing so means that all that
// was said before has been taken.
const (
	sentinel    = "sentinel"
	sentinelApp = objects.AppID("nobody")
)
