package loop

import (
	"context"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// How snapshots share the loop with decisions (ADR 32). All durations are those of the loop's
// own work; no reader makes any of them longer.
const (
	refreshSlice      = 300                  // objects that are viewed again before anything else is looked at; less than 1 ms
	refreshFinish     = 500                  // objects that may be left when a snapshot is finished in one go; about 1 ms
	decisionsPerSlice = 32                   // decisions between two slices; they list half as many objects as a slice views
	refreshEvery      = 2 * time.Millisecond // or those that are made in this time
	refreshShare      = 20                   // while there is something to decide, one snapshot is made in so many times the time it takes
	maxRefreshPause   = 5 * time.Second      // but readers wait no longer than this before the next is begun
	snapshotRetention = time.Minute          // for how long after a reader the views are kept up to date
)

// reader waits for a Snapshot.
type reader struct {
	ctx   context.Context
	reply chan<- *scheduler.Snapshot
}

// snapshotRefresh is a snapshot that is being made.
type snapshotRefresh struct {
	sliceSize int           // objects in the next slice; 0: none is being made
	remaining int           // objects, after the last slice
	spent     time.Duration // on it
	lastSlice time.Time     // when the last slice ended
	notBefore time.Time     // before this, none is begun while there is something to decide

	lastRead time.Time // when the last one was made, or is being made; zero: no views are kept
}

// Snapshot is the state at a moment after all that was sent before. It is made in slices between
// decisions, which go before; all who wait get the same one, and while the state does not change
// so do all who come. The work for a reader ends when no reader waits: when their ctx have ended.
func (l *Loop) Snapshot(ctx context.Context) (*scheduler.Snapshot, error) {
	reply := make(chan *scheduler.Snapshot, 1)
	if !l.enqueue(envelope{run: func() { l.readers = append(l.readers, reader{ctx, reply}) }}) {
		return nil, ErrEnded
	}
	return await(ctx, l, reply)
}

// readersDue reports whether something should be done for readers now.
func (l *Loop) readersDue() bool {
	switch {
	case len(l.readers) == 0:
		return false
	case !l.mayDecide():
		return true
	case l.refresh.sliceSize == 0 && l.now().Before(l.refresh.notBefore):
		return false
	}
	return l.decisionsSinceRead >= decisionsPerSlice || l.now().Sub(l.refresh.lastSlice) >= refreshEvery
}

// decisionBatch is how many decisions are made before anything else is looked at.
func (l *Loop) decisionBatch() int {
	if len(l.readers) > 0 {
		return min(l.opt.DecisionBatch, decisionsPerSlice)
	}
	return l.opt.DecisionBatch
}

// serveReaders does a bit of what readers wait for, if they are due.
func (l *Loop) serveReaders() {
	if !l.readersDue() {
		return
	}
	l.decisionsSinceRead, l.refresh.lastSlice = 0, l.now()
	l.readers = slices.DeleteFunc(l.readers, func(r reader) bool { return r.ctx.Err() != nil })
	if len(l.readers) == 0 || l.cachedSnapshot == nil && !l.refreshSnapshot() {
		return
	}
	for _, r := range l.readers {
		r.reply <- l.cachedSnapshot
	}
	clear(l.readers)
	l.readers = l.readers[:0]
}

// refreshSnapshot does one slice of the next snapshot, or finishes it: done. A slice that left no
// less to do than the one before is followed by one twice as large, so that it comes to an end
// however much is decided meanwhile.
func (l *Loop) refreshSnapshot() (done bool) {
	r := &l.refresh
	began := l.now()
	r.lastRead = began
	if r.sliceSize == 0 {
		r.sliceSize, r.remaining, r.spent = refreshSlice, 1<<62, 0
	}
	remaining := l.core.RefreshSnapshot(r.sliceSize)
	if remaining >= r.remaining {
		r.sliceSize *= 2
	}
	if r.remaining = remaining; remaining <= refreshFinish {
		l.cachedSnapshot, done = l.core.Snapshot(began), true
	}
	r.lastSlice = l.now()
	r.spent += r.lastSlice.Sub(began)
	if done {
		r.sliceSize, r.notBefore = 0, began.Add(min(refreshShare*r.spent, maxRefreshPause))
	}
	return done
}

// dropSnapshots stops keeping views up to date when there was no reader for long.
func (l *Loop) dropSnapshots() {
	if !l.refresh.lastRead.IsZero() && l.lastTime.Sub(l.refresh.lastRead) > snapshotRetention {
		l.core.ForgetSnapshots()
		l.refresh, l.cachedSnapshot = snapshotRefresh{}, nil
	}
}
