package objects

import "github.com/canopy-scheduler/canopy/pkg/policies"

// An application and the queues above it stand in orders, and their keys change with
// every posting. So whoever changes a book first lets the application stepOut, and
// then lets it stepIn again: keys and priorities are brought up to date from the
// leaf to the root, and nothing outside that path is touched.

// stepOut takes a, its leaf and every ancestor out of the orders they stand in.
func (a *Application) stepOut() {
	q := a.queue
	if a.listed {
		q.apprun.remove(a)
		a.listed = false
	}
	if a.fresh {
		q.fresh.remove(a)
		a.fresh = false
	}
	for ; q.parent != nil; q = q.parent {
		if q.listed {
			q.parent.turn.remove(q)
			q.listed = false
		}
	}
}

// stepIn undoes stepOut with the keys as they are now.
func (a *Application) stepIn() {
	q, was := a.queue, a.key.Priority
	a.rekey()
	a.list()
	for now := a.key.Priority; ; q = q.parent {
		shown := q.CurrentPriority()
		if was != now { // a change travels up only while it changes anything
			q.tally.Remove(was)
			q.tally.Add(now)
		}
		was, now = shown, q.CurrentPriority()
		if q.parent == nil {
			return
		}
		q.rekey()
		q.list()
	}
}

// list puts a into the orders of its leaf that it belongs in.
func (a *Application) list() {
	q := a.queue
	if a.asks > 0 {
		q.apprun.insert(a)
		a.listed = true
	}
	if a.newcomer() {
		q.fresh.insert(a)
		a.fresh = true
	}
}

// newcomer reports whether a is one of those of which only the first may be given
// something: in a StateAware leaf, not ramped up, and either asking or still holding
// its first allocation.
func (a *Application) newcomer() bool {
	return a.queue.conf.Sort == policies.StateAware && !a.ramped && (a.asks > 0 || a.made > 0 && a.bound > 0)
}

func (q *Queue) rekey() {
	q.key.Priority = q.CurrentPriority()
	q.key.Share = q.Share()
	q.key.Pending = q.pending.Sum()
}

func (q *Queue) list() {
	if q.HasPending() {
		q.parent.turn.insert(q)
		q.listed = true
	}
}

// awake says that something below q may have become possible: nobody on the way up
// may pass it over any more.
func (q *Queue) awake() {
	for ; q != nil; q = q.parent {
		q.quiet = 0
	}
}
