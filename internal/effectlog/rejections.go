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
	// rejectionWindow is for how long rejections are counted before they are written.
	rejectionWindow = time.Second
	// maxRejectionLines bounds the lines of one window; what is more is counted in one further line.
	maxRejectionLines = 50
)

// rejections counts the asks and allocations that were rejected, and writes the counts. A burst
// begins a window; when that is over there is a line for each partition, kind of reason and
// application, which has the first of its rejections as the example.
//
// Law: the counts of all lines add up to the rejections that were added.
type rejections struct {
	log *zap.Logger

	mu       sync.Mutex
	counts   map[rejectionKind]*rejectionCount
	overflow rejectionCount
	timer    *time.Timer // nil: no window is open
	closed   bool
}

// rejectionKind is what rejections of one line have in common.
type rejectionKind struct {
	partition string
	kind      scheduler.Rejection
	app       objects.AppID
}

type rejectionCount struct {
	n      int
	key    objects.AllocationKey // of the first
	reason string                // for which it was rejected
}

// add counts one rejection. partition is empty where no partition has seen the ask.
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

// count counts under a kind, or under the others when there are too many. What is kept does not
// keep the message of the resource manager, which its texts are parts of. Requires: r.mu.
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
	if c.n++; c.n == 1 {
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

// close writes what was counted, and opens no window any more.
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

// write writes the counts, and forgets them. Requires: r.mu.
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
