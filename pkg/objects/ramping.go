package objects

import (
	"cmp"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// ramping is the applications of StateAware leaves that ramp up by time unless their allocations ramp them up
// before (ORD-33), by the time of the first allocation.
type ramping []ramp

type ramp struct {
	app  *Application
	from int64 // Application.firstAllocatedAt
}

// add adds a if its first allocation was made and it has not ramped up.
func (r *ramping) add(a *Application) {
	if a.queue.policy.sort != policies.StateAware || a.rampedUp || a.allocationsMade == 0 {
		return
	}
	at := r.find(a.firstAllocatedAt)
	for at < len(*r) && (*r)[at].from == a.firstAllocatedAt {
		at++
	}
	*r = slices.Insert(*r, at, ramp{a, a.firstAllocatedAt})
}

// remove removes a, if it is there.
func (r *ramping) remove(a *Application) {
	for at := r.find(a.firstAllocatedAt); at < len(*r) && (*r)[at].from == a.firstAllocatedAt; at++ {
		if (*r)[at].app == a {
			*r = slices.Delete(*r, at, at+1)
			return
		}
	}
}

// find is the index of the first entry from a time on.
func (r *ramping) find(from int64) int {
	at, _ := slices.BinarySearchFunc(*r, from, func(x ramp, t int64) int { return cmp.Compare(x.from, t) })
	return at
}

// due returns when the next application ramps up. ok is false if there is none.
func (r *ramping) due() (at time.Time, ok bool) {
	if len(*r) == 0 {
		return at, false
	}
	return time.Unix(0, (*r)[0].from).UTC().Add(policies.RampTime), true
}

// takeDue removes the applications whose time has come, and returns those of them that ramp up by it. Others have
// ramped up by allocations, or their first allocation was undone. Requires: remove was called for each application
// that was removed.
func (r *ramping) takeDue(now time.Time) (due []*Application) {
	for at, ok := r.due(); ok && !now.Before(at); at, ok = r.due() {
		a, from := (*r)[0].app, (*r)[0].from
		*r = (*r)[1:]
		if !a.rampedUp && a.allocationsMade > 0 && a.firstAllocatedAt == from {
			due = append(due, a)
		}
	}
	return due
}
