package effectlog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const (
	// rejectionWindow is the time for which rejections are counted before they are written.
	rejectionWindow = time.Second
	// maxRejectionLines bounds the lines of one window; the rest is counted in one further line.
	maxRejectionLines = 50
)

// rejections counts rejected asks and allocations, and writes the counts (OBS-72). The first
// rejection opens a window; at its end there is a line for each partition, kind of rejection and
// application, with the first rejection as the example.
//
// Invariant: the counts of all lines add up to the rejections that were added.
type rejections struct {
	log *zap.Logger

	mu       sync.Mutex
	counts   map[rejectionKind]*rejectionCount
	overflow rejectionCount
	timer    *time.Timer // nil: no window is open
	closed   bool
}

// rejectionKind has the fields that the rejections of one line share.
type rejectionKind struct {
	partition string
	kind      scheduler.Rejection
	app       objects.AppID
}

type rejectionCount struct {
	n      int
	key    objects.AllocationKey // of the first rejection
	reason string                // of the first rejection
}

// add counts one rejection. partition is empty if no partition has seen the ask.
func (r *rejections) add(partition string, e scheduler.AskRejected) {
	if !r.log.Core().Enabled(zap.InfoLevel) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(rejectionKind{partition, cmp.Or(e.Kind, scheduler.RejectedOther), e.App}, e)
	switch {
	case r.closed:
		r.write()
	case r.timer == nil:
		r.timer = time.AfterFunc(rejectionWindow, r.flush)
	}
}

// count counts a rejection under its kind, or in overflow when there are too many kinds. Strings
// are copied, because they may be parts of a larger message. The caller must hold r.mu.
func (r *rejections) count(kind rejectionKind, e scheduler.AskRejected) {
	if c := r.counts[kind]; c != nil {
		c.n++
		return
	}
	c := &r.overflow
	if len(r.counts) < maxRejectionLines {
		if r.counts == nil {
			r.counts = map[rejectionKind]*rejectionCount{}
		}
		c = &rejectionCount{}
		kind.app = objects.AppID(strings.Clone(string(kind.app)))
		r.counts[kind] = c
	}
	c.n++
	if c.n == 1 {
		c.key, c.reason = objects.AllocationKey(strings.Clone(string(e.Key))), strings.Clone(e.Reason)
	}
}

// flush ends the window.
func (r *rejections) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = nil
	r.write()
}

// close writes the counts, and lets later rejections be written at once.
func (r *rejections) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.closed = true
	r.write()
}

// write writes the counts and clears them. The caller must hold r.mu.
func (r *rejections) write() {
	kinds := slices.SortedFunc(maps.Keys(r.counts), func(a, b rejectionKind) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.kind, b.kind), cmp.Compare(a.app, b.app))
	})
	for _, k := range kinds {
		c := r.counts[k]
		where := zap.Skip()
		if k.partition != "" {
			where = zap.String("partition", k.partition)
		}
		r.log.Info("asks rejected", where, zap.String("kind", string(k.kind)), application(k.app),
			zap.Int("count", c.n), zap.String("exampleKey", string(c.key)), reason(c.reason))
	}
	if r.overflow.n > 0 {
		r.log.Info("asks rejected: other kinds of reason and other applications", zap.Int("count", r.overflow.n),
			zap.String("exampleKey", string(r.overflow.key)), reason(r.overflow.reason))
	}
	r.counts, r.overflow = nil, rejectionCount{}
}
