// Package totals keeps how many applications ran and how many allocations there were in the last day, a sample each
// minute, for the pages that draw them.
//
// It owns the samples. Where the numbers come from is the caller's. Samples are in the order of time.
package totals

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Interval is the time between two samples, and Kept how many are kept: those of a day.
const (
	Interval = time.Minute
	Kept     = 1440
)

// Sample is the totals of all partitions at a time.
type Sample struct {
	At           time.Time
	Applications int // running
	Allocations  int
}

// History is the last samples. The zero value has none. It is safe for concurrent use.
type History struct {
	mu   sync.Mutex
	ring []Sample
	next int // where the next sample goes, once ring is full
}

// Add appends a sample; the oldest goes if there are more than Kept. The caller must pass times that do not decrease.
func (h *History) Add(x Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) < Kept {
		h.ring = append(h.ring, x)
		return
	}
	h.ring[h.next] = x
	h.next = (h.next + 1) % Kept
}

// Samples returns all samples, the oldest first, in a new slice.
func (h *History) Samples() []Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Concat(h.ring[h.next:], h.ring[:h.next])
}

// Run adds a sample at once and then each Interval, until ctx ends. read is the totals at a time; ok is false if they
// are not known, and then there is no sample.
func (h *History) Run(ctx context.Context, read func(context.Context) (x Sample, ok bool)) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		if x, ok := read(ctx); ok {
			h.Add(x)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
