package twin

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Allocations that have just begun (PRE-123 to PRE-125).

// youngEnd returns when the members of a unit, which are preempted together, no longer are young; the zero time: they
// are not.
func (t *Twin) youngEnd(unit []*allocation) (end time.Time) {
	oldest := slices.MinFunc(unit, func(x, y *allocation) int { return x.boundAt.Compare(y.boundAt) })
	end = oldest.boundAt.Add(t.queue(t.app(oldest.ask.App).leaf).conf.MinRuntime)
	if !t.now.Before(end) {
		return time.Time{}
	}
	return end
}

// young returns 1 for a unit that has run for less than its minimum run time, else 0; also 0 for an ask that requires a
// node.
func (t *Twin) young(unit []*allocation, reason string) int64 {
	return int64(boolToInt(reason != "required node" && !t.youngEnd(unit).IsZero()))
}

// strictlyYoung reports whether a unit is no victim yet.
func (t *Twin) strictlyYoung(unit []*allocation, reason string) bool {
	return t.young(unit, reason) > 0 && t.queue(t.app(unit[0].ask.App).leaf).conf.MinRuntimeStrict
}

// youngEnds returns the times at which a backed-off ask, or a queue above its max, finds the victims that it does not
// find before, because an allocation no longer is young (PRE-125). With an Oracle, and for gangs, there are none: these
// search again without a change, or are not tried here.
func (t *Twin) youngEnds() (times []time.Time) {
	now, ends := t.now, []time.Time(nil)
	for _, w := range t.allocations {
		if w.node != "" && !w.preempting && !w.ending {
			if end := t.youngEnd(t.victimUnit(w)); !end.IsZero() {
				ends = append(ends, end)
			}
		}
	}
	if len(ends) == 0 || t.oracle != nil {
		return nil
	}
	slices.SortFunc(ends, time.Time.Compare)
	ends = slices.Compact(ends)
	ends = ends[:min(len(ends), 3)] // the others are met later, if nothing happens
	addFirst := func(notBefore time.Time, found func() bool) {
		for _, end := range ends {
			t.now = end
			if end.Before(notBefore) {
				t.now = notBefore
			}
			if found() {
				times = append(times, t.now)
				break
			}
		}
		t.now = now
	}
	c := t.total()
	for _, w := range t.firstOfEachGroup(c) {
		at, ok := t.backedOff[t.askGroupKey(w.ask)]
		if ok && t.mayPreempt(w) && !t.preemptsAsGang(w) && now.Before(at.Add(backOff)) {
			addFirst(at.Add(backOff), func() bool { _, _, found := t.planVictims(c, w); return found })
		}
	}
	for path, v := range t.violations {
		if !v.evaluated.IsZero() && now.Before(v.evaluated.Add(backOff)) {
			addFirst(t.nextEnforcement(path), func() bool { return len(t.quotaVictims(t.queue(path))) > 0 })
		}
	}
	return times
}

// preemptedYoung reports whether an effect releases an allocation before the end of its minimum run time, by
// preemption.
func preemptedYoung(core *scheduler.Core, e scheduler.Effect, now time.Time) bool {
	r, _ := e.(scheduler.Released)
	x, known := core.Partition().Allocation(r.Key)
	return known && r.Type == scheduler.PreemptedByScheduler && !strings.Contains(r.Message, "(required node)") &&
		!strings.Contains(r.Message, "(pressure)") && !strings.Contains(r.Message, "(operator)") &&
		now.Before(x.BoundAt().Add(x.Application().Queue().Settings().MinRuntime))
}
