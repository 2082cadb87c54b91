package usage

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// DefaultInterval is the time between two samples.
const DefaultInterval = time.Minute

// maintenance is the time between two roll-ups, which also delete what is too old.
const maintenance = 15 * time.Minute

// Source gives a Recorder its snapshots: one of each partition. One that does not answer is left out.
type Source func(ctx context.Context) []*scheduler.Snapshot

// Recorder takes samples of all partitions and writes them to a Store. What it cannot write is logged, and does not end
// it (USG-10).
type Recorder struct {
	store    *Store
	interval time.Duration
	now      func() time.Time
	log      *zap.Logger

	// LastTimeout bounds the time for which Run waits for the last sample; 0: it takes none. It must not change while Run
	// runs.
	LastTimeout time.Duration

	trees      map[string]*Tree
	ended      map[string]*[2]newEnded
	unwritten  map[string][]*lifecycle.Ended // by partition: the last write of them has failed
	maintained time.Time
	failing    bool // the last write has failed

	failures atomic.Uint64
}

// NewRecorder returns a Recorder. An interval of zero is DefaultInterval; now is the clock of the partitions.
func NewRecorder(store *Store, interval time.Duration, now func() time.Time, log *zap.Logger) *Recorder {
	return &Recorder{
		store: store, interval: orDefault(interval, DefaultInterval), now: now, log: log,
		trees: map[string]*Tree{}, ended: map[string]*[2]newEnded{}, unwritten: map[string][]*lifecycle.Ended{},
	}
}

// Failures returns how many writes have failed.
func (r *Recorder) Failures() uint64 { return r.failures.Load() }

// Run takes samples until ctx ends, and then a last one.
func (r *Recorder) Run(ctx context.Context, from Source) {
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
	for {
		r.sample(from(ctx))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			r.last(from)
			return
		}
	}
}

// last takes a last sample, if the partitions still answer soon.
func (r *Recorder) last(from Source) {
	if r.LastTimeout > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), r.LastTimeout)
		defer cancel()
		r.sample(from(ctx))
	}
	r.report(r.store.Extend(r.now()))
}

// sample writes one sample of each partition. A partition that has none is unknown until the next one.
func (r *Recorder) sample(snaps []*scheduler.Snapshot) {
	missing := map[string]bool{}
	for _, name := range r.store.Sampled() {
		missing[name] = true
	}
	var writes []error // nil for one that succeeded
	for _, snap := range snaps {
		delete(missing, snap.Partition)
		tree := TreeOf(context.Background(), snap, r.trees[snap.Partition])
		r.trees[snap.Partition] = tree
		writes = append(writes, r.store.Add(SampleOf(snap, tree)), r.addEnded(snap))
	}
	for name := range missing {
		r.store.Interrupt(name)
		delete(r.trees, name)
	}
	if now := r.now(); now.Sub(r.maintained) >= maintenance {
		r.maintained = now
		writes = append(writes, r.store.RollUp(now), r.store.Trim(now))
	}
	r.report(writes...)
}

// addEnded writes the applications that have ended since the last sample, and those that could not be written then.
func (r *Recorder) addEnded(snap *scheduler.Snapshot) error {
	found := r.ended[snap.Partition]
	if found == nil {
		found = new([2]newEnded)
		r.ended[snap.Partition] = found
	}
	all := r.unwritten[snap.Partition]
	for i, list := range endedOf(snap) {
		all = append(all, found[i].take(list)...)
	}
	err := r.store.AddEnded(snap.Partition, all)
	if err == nil {
		delete(r.unwritten, snap.Partition)
		return nil
	}
	r.unwritten[snap.Partition] = all[max(0, len(all)-maxPendingEnded):]
	return err
}

// report logs the first sample of which a write has failed after one that was written, and the first that was written
// after a failure. Writes of one sample fail together: one that has nothing to write succeeds on a full disk, too.
func (r *Recorder) report(writes ...error) {
	failed := slices.DeleteFunc(writes, func(err error) bool { return err == nil })
	r.failures.Add(uint64(len(failed)))
	switch {
	case len(failed) > 0:
		if !r.failing {
			r.log.Error("usage cannot be stored: what is not sampled again is lost",
				zap.String("file", r.store.file), zap.Error(errors.Join(failed...)))
		}
		r.failing = true
	case r.failing && len(writes) > 0:
		r.failing = false
		r.log.Info("usage is stored again", zap.String("file", r.store.file))
	}
}
