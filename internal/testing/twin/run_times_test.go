package twin

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Run times (RUN-1 to RUN-7).

// wishedRunTime reads the bound that tags name; 0: none. ok is false if it makes no sense.
func wishedRunTime(tags map[string]string) (wish time.Duration, ok bool) {
	for _, tag := range []string{"canopy.scheduler/max-run-time", "kubernetes.io/label/canopy.scheduler/max-run-time"} {
		if text, sent := tags[tag]; sent {
			d, err := time.ParseDuration(text)
			if err != nil || d < time.Second || d > 87600*time.Hour {
				return 0, false
			}
			return d, true
		}
	}
	return 0, true
}

// runTimeWish returns the bound that an ask, or else its application, wishes.
func (t *Twin) runTimeWish(ask *objects.Ask) (wish time.Duration, ok bool) {
	wish, ok = wishedRunTime(ask.Tags())
	if wish == 0 && ok {
		wish, ok = wishedRunTime(t.app(ask.App).tags)
	}
	return wish, ok
}

// runTimeReason says why a new ask may not run for as long as it wishes; empty: it may.
func (t *Twin) runTimeReason(ask *objects.Ask) string {
	wish, ok := t.runTimeWish(ask)
	if _, readable := mayBackfill(ask.Tags()); !readable {
		ok = false
	}
	conf := t.queue(t.app(ask.App).leaf).conf.RunTime
	switch {
	case !ok:
		return "a run time that cannot be read"
	case conf.Max > 0 && wish > conf.Max && !conf.Cut:
		return "it wishes to run for too long"
	}
	return ""
}

// startOf returns the time from which the bound of a reported allocation counts, and refuses tags without sense.
func (t *Twin) startOf(ask *objects.Ask) time.Time {
	t.reported = true
	at := t.now
	if stored, known := t.starts[ask.Key]; known {
		at = stored
	}
	delete(t.starts, ask.Key)
	if _, ok := t.runTimeWish(ask); !ok {
		t.refuse("run time", "nonsense")
	}
	if text, sent := ask.Tags()["canopy.scheduler/start-time"]; sent {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err == nil && seconds >= 0 && seconds <= t.now.Unix() {
			at = time.Unix(seconds, 0).UTC()
		} else {
			t.refuse("start", "nonsense")
		}
	}
	return at
}

// maxRunTime returns the bound of w; 0: none.
func (t *Twin) maxRunTime(w *allocation) time.Duration {
	if w.ask.Placeholder {
		return 0
	}
	wish, _ := t.runTimeWish(w.ask)
	conf := t.queue(t.app(w.ask.App).leaf).conf.RunTime
	if wish == 0 {
		wish = conf.Default
	}
	if wish == 0 || conf.Max > 0 && wish > conf.Max {
		wish = conf.Max
	}
	return wish
}

// runStart returns the time from which the bound of w counts.
func (w *allocation) runStart() time.Time {
	if w.started.IsZero() {
		return w.boundAt
	}
	return w.started
}

// runsUntil returns the end of the bound of w; zero: there is none.
func (t *Twin) runsUntil(w *allocation) time.Time {
	if bound := t.maxRunTime(w); w.node != "" && bound > 0 {
		return w.runStart().Add(bound)
	}
	return time.Time{}
}

// updateRunTimes sets when allocations are released whose bound or grace is another one than before. The grace begins
// now at the earliest.
func (t *Twin) updateRunTimes() {
	t.updateWaits()
	for _, w := range t.allocations {
		conf, bound := configs.RunTime{}, time.Duration(0)
		if w.node != "" {
			conf = t.queue(t.app(w.ask.App).leaf).conf.RunTime
		}
		if conf.Enforced {
			bound = t.maxRunTime(w)
		}
		if bound == w.runBound && conf.Grace == w.runGrace {
			continue
		}
		w.runBound, w.runGrace = bound, conf.Grace
		over := w.runStart().Add(bound)
		if over.Before(t.now) {
			over = t.now
		}
		w.runDue = over.Add(conf.Grace)
	}
}

// endLongRuns orders the end of what has run for too long.
func (t *Twin) endLongRuns() {
	over := filter(t.allocations, func(w *allocation) bool {
		return w.runBound > 0 && !w.ending && !w.preempting && !t.now.Before(w.runDue)
	})
	slices.SortFunc(over, func(a, b *allocation) int {
		return cmp.Or(a.runDue.Compare(b.runDue), cmp.Compare(a.ask.Key, b.ask.Key))
	})
	for _, w := range over {
		w.goneAsAsked = w.goneIfAsked(t.now)
		w.ending = true
		t.emit(scheduler.Released{Key: w.ask.Key, App: w.ask.App, Type: scheduler.TimedOut})
	}
}

// longRunsEnd returns the times that endLongRuns waits for; none, if one has come already.
func (t *Twin) longRunsEnd() (times []time.Time) {
	for _, w := range t.allocations {
		if w.runBound > 0 && !w.ending && !(w.preempting && !w.runDue.After(t.now)) {
			times = append(times, w.runDue)
		}
	}
	if slices.ContainsFunc(times, func(at time.Time) bool { return !at.After(t.now) }) {
		return nil
	}
	return times
}

// keepStarts remembers the starts of what runs, before the RM reports it again.
func (t *Twin) keepStarts() {
	starts := map[objects.AllocationKey]time.Time{}
	for _, w := range t.allocations {
		if w.node != "" && t.maxRunTime(w) > 0 {
			starts[w.ask.Key] = w.runStart()
		}
	}
	if t.reported || len(starts) > 0 {
		t.starts = starts
	}
	t.reported = false
}
