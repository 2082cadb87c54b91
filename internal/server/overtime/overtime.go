// Package overtime keeps usage over time, by which queues are ordered, so that a restart forgets nothing (FAI-7).
//
// It owns the text that is kept, and when it is written. What usage is, is left to package fairness, where the text is
// to package kept.
//
// The rule that must hold: a history that cannot be read is refused, with its name, and none is half read.
package overtime

import (
	"context"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// format identifies the format of the text of a Store.
const format = "canopy usage over time 1"

// Interval is the time between two writes. What is used after the last one is lost when the process is killed.
const Interval = 30 * time.Second

// Store keeps the histories by partition. Its methods must not be called concurrently, but First.
type Store struct {
	kept *kept.Partitions[[]fairness.Kept]
}

// New returns the Store of a text, which an earlier one has written. The error is of a text that is damaged, or of a
// later version.
func New(t kept.Text) (*Store, error) {
	p, err := kept.NewPartitions[[]fairness.Kept](t, format)
	if err != nil {
		return nil, err
	}
	for partition, list := range p.Former {
		for i := range list {
			if err := list[i].Validate(); err != nil {
				return nil, fmt.Errorf("%s is damaged: partition %s: %w", t.Name, partition, err)
			}
		}
	}
	return &Store{p}, nil
}

// First returns the commands with which a partition begins; nil: none. It is safe for concurrent use. st may be nil.
func (st *Store) First(partition string) []scheduler.Command {
	if st == nil || len(st.kept.Former[partition]) == 0 {
		return nil
	}
	return []scheduler.Command{scheduler.RestoreUsage{Usage: st.kept.Former[partition]}}
}

// Run keeps the histories of all partitions until ctx ends, and then a last time within timeout. failed is called with
// each error. A partition that does not answer, or is gone, keeps what the Store has.
func (st *Store) Run(ctx context.Context, timeout time.Duration, c *loop.Cluster, now func() time.Time,
	failed func(error)) {
	read := func(ctx context.Context) map[string][]fairness.Kept { return read(ctx, c, now()) }
	st.kept.Run(ctx, Interval, timeout, read, func(list []fairness.Kept) bool { return len(list) == 0 }, failed)
}

// read returns the histories of the partitions that answer.
func read(ctx context.Context, c *loop.Cluster, now time.Time) map[string][]fairness.Kept {
	all := map[string][]fairness.Kept{}
	for _, name := range c.Partitions() {
		l, ok := c.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		if list, err := l.UsageOverTime(ctx, now); err == nil {
			all[name] = list
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
