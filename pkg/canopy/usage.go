package canopy

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// lastSampleTimeout bounds the time that Close waits for a last sample.
const lastSampleTimeout = 500 * time.Millisecond

// openUsage opens the store of usage (USG-9); nil: nothing is kept. Requires: DataDir is held by the store of
// configurations.
func (o *Options) openUsage() (*usage.Store, error) {
	if o.Usage.Interval < 0 {
		return nil, nil
	}
	s, err := usage.Open(o.DataDir, usage.Options{MaxAge: o.Usage.MaxAge, MaxBytes: o.Usage.MaxBytes}, o.now())
	if err != nil {
		return nil, o.refused("DataDir", err)
	}
	return s, nil
}

// recordUsage samples all partitions until stopUsage.
func (s *Server) recordUsage() {
	if s.usage == nil {
		return
	}
	r := usage.NewRecorder(s.usage, s.opt.Usage.Interval, s.opt.now, s.log.Named(usageLogger))
	r.LastTimeout = s.opt.lastReadTimeout()
	s.stopUsage = goUntilStopped(func(ctx context.Context) { r.Run(ctx, s.usageSnapshots) })
}

// lastReadTimeout bounds the time for which Close waits for a last state of the partitions: one that is stuck must not
// use the time up that Close has.
func (o *Options) lastReadTimeout() time.Duration {
	return min(lastSampleTimeout, cmp.Or(o.CloseTimeout, defaultCloseTimeout)/8)
}

// goUntilStopped runs do until stop is called, which waits for its end.
func goUntilStopped(do func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// usageSnapshots are snapshots of all partitions that answer.
func (s *Server) usageSnapshots(ctx context.Context) (out []*scheduler.Snapshot) {
	c := s.engine.Cluster()
	for _, name := range c.Partitions() {
		l, ok := c.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		if snap, err := l.SnapshotOnce(ctx); err == nil {
			out = append(out, snap)
		}
	}
	return out
}
