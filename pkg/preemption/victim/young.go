package victim

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// minRuntime protects the allocations of a leaf that have just begun (preemption.minruntime, PRE-123, PRE-124). The
// zero value protects nothing.
type minRuntime struct {
	least  int64 // nanoseconds; an allocation that has run for less is young
	strict bool  // a young allocation is no victim; false: it is the last one
}

// minRuntimeOf returns the protection of the allocations of a leaf.
func minRuntimeOf(leaf *objects.Queue) minRuntime {
	conf := leaf.Settings()
	return minRuntime{int64(conf.MinRuntime), conf.MinRuntimeStrict}
}

// youngEnd returns when what has run since startedAt is no longer young, both in nanoseconds since 1970.
func (r minRuntime) youngEnd(startedAt int64) int64 { return startedAt + r.least }

// youngAges tells which candidates are young at a time, and remembers when the first of them no longer is.
type youngAges struct {
	now     int64 // nanoseconds since 1970
	nextEnd int64 // of the young ones met so far; 0: none was met
}

// isYoung reports whether what has run since startedAt is young.
func (a *youngAges) isYoung(r minRuntime, startedAt int64) bool {
	end := r.youngEnd(startedAt)
	if r.least == 0 || a.now >= end {
		return false
	}
	if a.nextEnd == 0 || end < a.nextEnd {
		a.nextEnd = end
	}
	return true
}

// nextYoungEnd returns when the first of the young candidates that were met no longer is young; the zero time: none was
// met.
func (a *youngAges) nextYoungEnd() (at time.Time) {
	if a.nextEnd != 0 {
		at = time.Unix(0, a.nextEnd).UTC()
	}
	return at
}

// minRuntime returns the protection of the allocations of a leaf from the ask: none from one that requires a node.
func (h *victimSearch) minRuntime(leaf *objects.Queue) minRuntime {
	if h.reason == ReasonRequiredNode {
		return minRuntime{}
	}
	return h.eligibility(leaf).minRuntime
}

// candidateOf returns the victim unit of y as a candidate for the ask, and whether it is young.
func (h *victimSearch) candidateOf(y *objects.Allocation) victimUnit {
	u := h.unitOf(y)
	u.young = h.ages.isYoung(h.minRuntime(y.Application().Queue()), u.startedAt)
	return u
}

// markYoung sets which candidates of a node are young in a copy of them, and reports whether any is.
func (h *victimSearch) markYoung(l *nodeCache, c *nodeSummary) (anyYoung bool) {
	if !l.anyMinRuntime || h.reason == ReasonRequiredNode {
		return false
	}
	h.sortBuffer = append(h.sortBuffer[:0], c.candidates...)
	for i := range h.sortBuffer {
		w := &h.sortBuffer[i]
		w.young = h.ages.isYoung(l.minRuntimes[w.leafIndex], w.startedAt)
		anyYoung = anyYoung || w.young
	}
	return anyYoung
}

// youngUntil returns when y, or its victim group, no longer is young. Requires: it is IneligibleYoung.
func (h *victimSearch) youngUntil(y *objects.Allocation) time.Time {
	u := h.unitOf(y)
	return time.Unix(0, h.minRuntime(y.Application().Queue()).youngEnd(u.startedAt)).UTC()
}

// noteYoung records for reports that y is no victim yet; without a report it does nothing.
func (t *victimSelector) noteYoung(y *objects.Allocation) {
	if t.search.protected == nil {
		return
	}
	t.youngHeld.Add(y.Shape().Vector())
	if end := t.search.youngUntil(y); t.youngEnd.IsZero() || end.Before(t.youngEnd) {
		t.youngEnd = end
	}
}

// waitsForYoung reports whether the ask would fit the node, which has no plan, if allocations that are no victims yet
// were preempted too.
func (t *victimSelector) waitsForYoung() bool {
	wanted := t.search.ask.Shape().Vector()
	return !t.free.Covers(wanted) && sumCovers(t.free, t.youngHeld, wanted)
}
