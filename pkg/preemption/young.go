package preemption

import "time"

// A search that finds no victims may find some when a candidate has run for its minimum run time (PRE-125). So the
// first of these times is remembered, and when it comes, that counts as a change: whoever backs off searches again, and
// its search finds the next of these times. Nothing is kept of the allocations themselves.

// searchAgainAt has what backs off search again at a time; the zero time: not because of this.
func (eng *Engine) searchAgainAt(at time.Time) {
	if !at.IsZero() {
		eng.youngEnd = earlier(eng.youngEnd, at)
	}
}

// endYouth counts as a change that a candidate no longer is young at now.
func (eng *Engine) endYouth(now time.Time) {
	if !eng.youngEnd.IsZero() && !now.Before(eng.youngEnd) {
		eng.youngEnd = time.Time{}
		eng.changes.generation++
	}
}

// nextYoungEnd returns the next time at which endYouth has work.
func (eng *Engine) nextYoungEnd() (time.Time, bool) { return eng.youngEnd, !eng.youngEnd.IsZero() }

// nextYoungRetry returns when endYouth lets the first group that backs off be evaluated again.
func (eng *Engine) nextYoungRetry() (at time.Time, ok bool) {
	for _, e := range eng.backOff.queue { // by evaluatedAt
		if e.waiting && !eng.youngEnd.IsZero() {
			return eng.youngRetry(e), true
		}
	}
	return at, false
}

// youngRetry returns when endYouth lets the group of e be evaluated again. Requires: youngEnd is set.
func (eng *Engine) youngRetry(e *evaluation) time.Time {
	if again := e.evaluatedAt.Add(evaluationRetry); again.After(eng.youngEnd) {
		return again
	}
	return eng.youngEnd
}
