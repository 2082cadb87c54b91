package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// answerTimeout bounds the time of an answer. A longer time is a failure, not a measurement.
const answerTimeout = time.Minute

// recorder records the answers to a resource manager, over any interface. It is called from one
// goroutine at a time.
type recorder struct {
	mu                sync.Mutex // guards the rest
	nodes             int        // accepted
	apps              int        // accepted
	rejectedSentinels int        // of sentinels
	failed            error      // the first invalid answer
	placed            int
	// observer is called with every allocation and every release by the number of its ask, with the
	// lock held; nil: there is none.
	observer func(number int, allocated bool)
	changed  chan struct{} // holds one token after an answer
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{}, 1)} }

// lock locks the recorder for one message. unlock wakes waiting goroutines.
func (e *recorder) lock() { e.mu.Lock() }

func (e *recorder) unlock() {
	e.mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// record records an allocation or a release. The caller must hold the lock.
func (e *recorder) record(number int, allocated bool) {
	if allocated {
		e.placed++
	}
	if e.observer != nil {
		e.observer(number, allocated)
	}
}

// fail records the first invalid answer. The caller must hold the lock.
func (e *recorder) fail(format string, args ...any) {
	if e.failed == nil {
		e.failed = fmt.Errorf(format, args...)
	}
}

// setObserver replaces the observer. The count of placements starts anew.
func (e *recorder) setObserver(observer func(number int, allocated bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observer, e.placed = observer, 0
}

// await blocks until done, which is called with the lock held, or until a failure. what is part of the
// error.
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

// sentinel is the prefix of the keys of asks that must be rejected: the rejection shows that every
// earlier message was processed.
const (
	sentinel    = "sentinel"
	sentinelApp = objects.AppID("nobody")
)
