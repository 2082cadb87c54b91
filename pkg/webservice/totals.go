package webservice

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The totals of the last day: how many applications ran and how many allocations there were, for the pages that draw
// them (OBS-99).

const (
	totalsInterval = time.Minute
	keptTotals     = 1440 // those of a day
)

// TotalsSample is the totals of all partitions at a time.
type TotalsSample struct {
	At           time.Time
	Applications int // running
	Allocations  int
}

// TotalsHistory is the last samples of the totals, the oldest first. The zero value has none. It is safe for concurrent
// use.
type TotalsHistory struct {
	mu   sync.Mutex
	ring []TotalsSample
	next int // where the next sample goes, once ring is full
}

// Add appends a sample; the oldest goes if there are more than keptTotals. Times must not decrease.
func (h *TotalsHistory) Add(x TotalsSample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) < keptTotals {
		h.ring = append(h.ring, x)
		return
	}
	h.ring[h.next] = x
	h.next = (h.next + 1) % keptTotals
}

// samples returns all samples, the oldest first, in a new slice.
func (h *TotalsHistory) samples() []TotalsSample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Concat(h.ring[h.next:], h.ring[:h.next])
}

// Run adds a sample at once and then each minute, until ctx ends. read returns the totals now; ok is false if they
// are not known, and then there is no sample.
func (h *TotalsHistory) Run(ctx context.Context, read func(context.Context) (x TotalsSample, ok bool)) {
	ticker := time.NewTicker(totalsInterval)
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

// Totals returns the totals of all partitions of a cluster, without the time. ok is false if a partition does not
// answer.
func Totals(ctx context.Context, c *loop.Cluster) (x TotalsSample, ok bool) {
	for _, l := range partitionsOf(c) {
		running, allocations, err := l.Totals(ctx)
		switch {
		case errors.Is(err, loop.ErrEnded):
			continue
		case err != nil:
			return x, false
		}
		x.Applications += running
		x.Allocations += allocations
	}
	return x, true
}

func (s *service) applicationSamples() []dao.ApplicationSample {
	out := []dao.ApplicationSample{}
	for _, x := range s.opt.Totals.samples() {
		out = append(out, dao.ApplicationSample{Timestamp: dao.Nanos(x.At), TotalApplications: x.Applications})
	}
	return out
}

func (s *service) containerSamples() []dao.ContainerSample {
	out := []dao.ContainerSample{}
	for _, x := range s.opt.Totals.samples() {
		out = append(out, dao.ContainerSample{Timestamp: dao.Nanos(x.At), TotalContainers: x.Allocations})
	}
	return out
}

func (s *service) applicationHistory(*http.Request) (any, error) { return s.applicationSamples(), nil }

func (s *service) containerHistory(*http.Request) (any, error) { return s.containerSamples(), nil }
