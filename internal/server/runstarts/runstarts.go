// Package runstarts keeps when allocations with an enforced run time began to run, so that a restart does not let them
// run anew (RUN-7).
//
// It owns the text that is kept, and when it is written. How long an allocation may run is left to package runtimes,
// where the text is to package kept.
//
// The rule that must hold: no start that is kept is before the real one, so that nothing ends early.
package runstarts

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// format identifies the format of the text of a Store.
const format = "canopy run starts 1"

// Interval is the time between two writes. An allocation that is younger than it when the process is killed runs its
// bound from its report on.
const Interval = 30 * time.Second

// formerKept is for how long the starts of a former process are kept that no report has needed: resource managers
// register and report in this time.
const formerKept = time.Hour

// Store keeps the starts by partition. Its methods must not be called concurrently, but First.
type Store struct {
	kept  *kept.Partitions[starts]
	until time.Time // until when the starts of the former process are kept, too
}

type starts = map[objects.AllocationKey]objects.Timestamp

// New returns the Store of a text, which an earlier one has written. The error is of a text that is damaged.
func New(t kept.Text, now time.Time) (*Store, error) {
	p, err := kept.NewPartitions[starts](t, format)
	return &Store{p, now.Add(formerKept)}, err
}

// First returns the commands with which a partition begins; nil: none. It is safe for concurrent use. st may be nil.
func (st *Store) First(partition string) []scheduler.Command {
	if st == nil || len(st.kept.Former[partition]) == 0 {
		return nil
	}
	var list []runtimes.Start
	for _, key := range slices.Sorted(maps.Keys(st.kept.Former[partition])) {
		list = append(list, runtimes.Start{Key: key, At: st.kept.Former[partition][key]})
	}
	return []scheduler.Command{scheduler.RestoreStarts{Starts: list}}
}

// Run keeps the starts of all partitions until ctx ends, and then a last time within timeout. failed is called with
// each error. A partition that does not answer, or is gone, keeps what the Store has.
func (st *Store) Run(ctx context.Context, timeout time.Duration, c *loop.Cluster, now func() time.Time,
	failed func(error)) {
	read := func(ctx context.Context) map[string]starts { return st.withFormer(read(ctx, c), now()) }
	st.kept.Run(ctx, Interval, timeout, read, func(s starts) bool { return len(s) == 0 }, failed)
}

// withFormer adds the starts of the former process for as long as they are kept.
func (st *Store) withFormer(of map[string]starts, now time.Time) map[string]starts {
	for name, known := range of {
		if former := st.kept.Former[name]; now.Before(st.until) && len(former) > 0 {
			of[name] = maps.Clone(former)
			maps.Copy(of[name], known)
		}
	}
	return of
}

// read returns the starts of the partitions that answer.
func read(ctx context.Context, c *loop.Cluster) map[string]starts {
	all := map[string]starts{}
	for _, name := range c.Partitions() {
		l, ok := c.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		enforced, err := l.EnforcesRunTimes(ctx)
		if err == nil && !enforced {
			all[name] = nil
		} else if err == nil {
			var snap *scheduler.Snapshot
			if snap, err = l.SnapshotOnce(ctx); err == nil {
				all[name] = startsOf(snap)
			}
		}
	}
	return all
}

// startsOf returns the starts of the allocations with a bound.
func startsOf(snap *scheduler.Snapshot) starts {
	all := starts{}
	for n := range snap.Nodes.All() {
		for x := range n.Allocations.All() {
			if r := &x.Run; !r.RunsUntil.IsZero() {
				all[x.Ask.Key] = objects.TimestampOf(r.RunsUntil.Time().Add(-time.Duration(r.MaxRunTime)))
			}
		}
	}
	return all
}

// Close ends the use of the store. st may be nil.
func (st *Store) Close() error {
	if st == nil {
		return nil
	}
	return st.kept.Close()
}
