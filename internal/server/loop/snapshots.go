package loop

import (
	"context"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// How snapshots share the loop with decisions (OBS-2, OBS-3, OBS-5, ADR 32). All durations are those
// of the loop's own work; they do not depend on the number of readers.
const (
	// objects per slice; less than 1 ms where they are in the cache, 4 ms where not
	refreshSlice = 300
	// remaining objects up to which a snapshot is finished in one step; about 1 ms
	refreshFinish = 500
	// slices are so much smaller while there is nothing to decide: an ask waits for the slice under way
	idleDivisor = 4
	// decisions between two slices; they change half as many objects as a slice refreshes
	decisionsPerSlice = 32
	refreshEvery      = 2 * time.Millisecond // or the time between two slices, if less
	refreshAllowance  = 4                    // times as many objects as there are: when so many were viewed, slices grow
	// while there are decisions to make: one snapshot in so many times its duration
	refreshShare      = 20
	maxRefreshPause   = 5 * time.Second // but the next one begins after this time at the latest
	snapshotRetention = time.Minute     // how long after the last reader the views are kept up to date
)

// reader is a caller that waits for a Snapshot.
type reader struct {
	ctx   context.Context
	reply chan<- *scheduler.Snapshot
	once  bool // the views are not kept for it
}

// snapshotRefresh is the state of the snapshot that is being made.
type snapshotRefresh struct {
	sliceSize int           // objects in the next slice; 0: none is being made
	viewed    int           // objects in slices so far, each change of an object counts
	allowance int           // how many may be viewed until slices grow
	spent     time.Duration // duration so far
	lastSlice time.Time     // when the last slice ended
	notBefore time.Time     // until then, none is begun while there are decisions to make

	lastRead time.Time // when a snapshot was last requested; zero: views are not kept
}

// Snapshot returns the state at a time after all commands that were sent before (OBS-1). It is made
// in slices between decisions, which have precedence; all waiting callers get the same snapshot,
// and so do later ones while the state does not change. The work ends when the ctx of every caller
// has ended.
func (l *Loop) Snapshot(ctx context.Context) (*scheduler.Snapshot, error) {
	return l.snapshot(ctx, false)
}

// SnapshotOnce is Snapshot for a caller that comes back after a long time only: without other readers, the views are
// dropped at once, so that decisions have no cost of snapshots until the next call (OBS-2).
func (l *Loop) SnapshotOnce(ctx context.Context) (*scheduler.Snapshot, error) {
	return l.snapshot(ctx, true)
}

func (l *Loop) snapshot(ctx context.Context, once bool) (*scheduler.Snapshot, error) {
	reply := make(chan *scheduler.Snapshot, 1)
	if !l.enqueue(envelope{run: func() { l.readers = append(l.readers, reader{ctx, reply, once}) }}) {
		return nil, ErrEnded
	}
	return await(ctx, l, reply)
}

// readersDue reports whether it is time for a slice for readers.
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

// decisionBatch is the number of decisions before other work.
func (l *Loop) decisionBatch() int {
	if len(l.readers) > 0 {
		return min(l.opt.DecisionBatch, decisionsPerSlice)
	}
	return l.opt.DecisionBatch
}

// serveReaders does a slice of the snapshot, or answers the readers, if it is time (OBS-4).
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
	once := l.onlyOnce()
	clear(l.readers)
	l.readers = l.readers[:0]
	if once && l.refresh.lastRead.IsZero() {
		l.core.ForgetSnapshots()
		l.refresh, l.cachedSnapshot = snapshotRefresh{}, nil
	}
}

// onlyOnce reports whether the views are kept for none of the readers.
func (l *Loop) onlyOnce() bool {
	return !slices.ContainsFunc(l.readers, func(r reader) bool { return !r.once })
}

// refreshSnapshot does one slice of the next snapshot, and finishes it if little remains: done
// (OBS-2). When several times as many objects were viewed as there were at first, decisions change more than slices
// view: then each slice is twice as large as the one before, so that the snapshot is finished however much is decided
// meanwhile. What remains does not tell, since an object that was viewed may leave another one to view, its queue.
func (l *Loop) refreshSnapshot() (done bool) {
	r := &l.refresh
	began := l.now()
	if !l.onlyOnce() {
		r.lastRead = began
	}
	if r.sliceSize == 0 {
		r.sliceSize, r.viewed, r.spent = refreshSlice, 0, 0
		r.allowance = refreshAllowance * l.core.RefreshSnapshot(0)
	}
	n, finish := r.sliceSize, refreshFinish
	if !l.mayDecide() {
		n /= idleDivisor
		finish = n
	}
	remaining := l.core.RefreshSnapshot(n)
	r.viewed += n
	if r.viewed > r.allowance {
		r.sliceSize *= 2
	}
	if remaining <= finish {
		l.cachedSnapshot, done = l.core.Snapshot(began), true
	}
	r.lastSlice = l.now()
	r.spent += r.lastSlice.Sub(began)
	if done {
		r.sliceSize, r.notBefore = 0, began.Add(min(refreshShare*r.spent, maxRefreshPause))
	}
	return done
}

// dropSnapshots stops keeping views up to date after snapshotRetention without a reader.
func (l *Loop) dropSnapshots() {
	if !l.refresh.lastRead.IsZero() && l.lastTime.Sub(l.refresh.lastRead) > snapshotRetention {
		l.core.ForgetSnapshots()
		l.refresh, l.cachedSnapshot = snapshotRefresh{}, nil
	}
}
