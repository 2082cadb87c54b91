// Package overtime keeps usage over time, by which queues are ordered, so that a restart forgets nothing (FAI-7).
//
// It owns the text that is kept, and when it is written. What usage is, is left to package fairness, where the text is
// to package kept.
//
// The rule that must hold: a history that cannot be read is refused, with its name, and none is half read.
package overtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	kept  kept.Text
	now   map[string][]fairness.Kept // by partition
	first map[string][]fairness.Kept // of the former process
	text  []byte                     // of now; nil: it is not known what is there
}

// content is the JSON of a text.
type content struct {
	Format     string                     `json:"format"`
	Partitions map[string][]fairness.Kept `json:"partitions"`
}

// New returns the Store of a text, which an earlier one has written. The error is of a text that is damaged, or of a
// later version.
func New(t kept.Text) (*Store, error) {
	first := content{Format: format}
	if err := t.Read(&first); err != nil {
		return nil, err
	}
	if first.Format != format {
		return nil, fmt.Errorf("%s has the format %q, and this version reads %q", t.Name, first.Format, format)
	}
	for partition, list := range first.Partitions {
		for i := range list {
			if err := list[i].Validate(); err != nil {
				return nil, fmt.Errorf("%s is damaged: partition %s: %w", t.Name, partition, err)
			}
		}
	}
	st := &Store{kept: t, now: map[string][]fairness.Kept{}, first: first.Partitions}
	maps.Copy(st.now, first.Partitions)
	var err error
	st.text, err = st.encode()
	return st, err
}

func (st *Store) encode() ([]byte, error) { return json.Marshal(content{format, st.now}) }

// First returns the commands with which a partition begins; nil: none. It is safe for concurrent use. st may be nil.
func (st *Store) First(partition string) []scheduler.Command {
	if st == nil || len(st.first[partition]) == 0 {
		return nil
	}
	return []scheduler.Command{scheduler.RestoreUsage{Usage: st.first[partition]}}
}

// Run keeps the histories of all partitions until ctx ends, and then a last time within timeout. failed is called with
// each error. A partition that does not answer, or is gone, keeps what the Store has.
func (st *Store) Run(ctx context.Context, timeout time.Duration, c *loop.Cluster, now func() time.Time,
	failed func(error)) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		reading, cancel := ctx, context.CancelFunc(func() {})
		select {
		case <-ticker.C:
		case <-ctx.Done():
			reading, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeout)
		}
		if err := st.keep(read(reading, c, now())); err != nil {
			failed(err)
		}
		cancel()
	}
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

// keep replaces the histories of some partitions, and writes the text if that changes it.
func (st *Store) keep(of map[string][]fairness.Kept) error {
	for name, list := range of {
		st.now[name] = list
		if len(list) == 0 {
			delete(st.now, name)
		}
	}
	text, err := st.encode()
	if err != nil || bytes.Equal(text, st.text) {
		return err
	}
	st.text = nil // after an error either text may be there
	if err := st.kept.Write(text); err != nil {
		return err
	}
	st.text = text
	return nil
}

// Close ends the use of the store. st may be nil.
func (st *Store) Close() error {
	if st == nil {
		return nil
	}
	return st.kept.End()
}
