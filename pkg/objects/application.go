package objects

import (
	"container/list"
	"iter"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Application is the asks and allocations of one user in one leaf.
type Application struct {
	id    AppID
	user  security.User
	tags  map[string]string
	queue *Queue
	state State
	log   stateLog

	work     roster  // pending and bound
	classes  classes // of the pending asks
	asks     int     // how many are pending
	bound    int     // how many have a node
	priority policies.Tally

	pending      resources.Vector   // asked for
	allocated    resources.Vector   // held by real allocations
	placeholders resources.Vector   // held by placeholders
	peak         resources.Vector   // the most that either of the two ever was
	formerPeak   *resources.Amounts // the same, of names that were gone in between; nil: none
	used         *UsageHistory      // what its ended allocations used; nil: none ran for a second

	made      int       // allocations ever made
	firstMade time.Time // when the first of them was made
	ramped    bool      // has ramped up: only StateAware leaves ask
	listed    bool      // it is in Partition.watch
	place     int32     // in Partition.appList
	counted   bool      // is counted among the running applications of its queues
	charged   bool      // and of its limits
	again     bool      // has asked again after it had nothing left, and was given nothing since
	seats     []seat    // in the accounts that limit it

	groupPriority int32 // of its groups, if groupRanked
	groupRanked   bool

	waiting *list.Element // in partition.completing; nil: it does not complete, or its time is up

	key   policies.AppKey     // as it stands in the indexes of its leaf
	turn  entry[*Application] // in queue.apps, if it asks for something
	fresh entry[*Application] // in queue.newcomers
	room  appRoom
}

// appRoom is for an application what queueRoom is for a queue.
type appRoom struct {
	pending, allocated, peak [shortVector]resources.Quantity
	can                      [shortMask]uint64
}

// ID is the name the RM gave the application.
func (a *Application) ID() AppID { return a.id }

// User is the owner.
func (a *Application) User() security.User { return a.user }

// Tags are what the RM sent along. Read-only.
func (a *Application) Tags() map[string]string { return a.tags }

// Queue is the leaf the application runs in.
func (a *Application) Queue() *Queue { return a.queue }

// State is where the application is in its life.
func (a *Application) State() State { return a.state }

// StateLog is every state the application has entered after New, oldest first; of a very
// long log the middle is left out. Read-only.
func (a *Application) StateLog() []StateChange { return a.log }

// Submitted is when the application, or the oldest work in it, was made.
func (a *Application) Submitted() time.Time { return time.Unix(0, a.key.Submitted).UTC() }

// AskMaxPriority is the highest priority of its pending asks.
func (a *Application) AskMaxPriority() policies.Current { return a.priority.Max() }

// Narrow takes out of f the shapes that the user or the group of a has no headroom for.
func (a *Application) Narrow(f Mask) {
	for _, s := range a.seats {
		f.narrow(s.account.fit)
	}
}

// Next is the class whose turn it is among those whose shape is in f. Requires: one of
// those with something to try is.
func (a *Application) Next(f Mask) *Class {
	c, _ := a.classes.turns.first(f)
	return c
}

// Offering are the classes with something to try whose shape, or its band, is in f, in
// turn.
func (a *Application) Offering(f Mask) iter.Seq[*Class] { return a.classes.turns.meeting(f) }

// Pending is what the application asks for. Read-only.
func (a *Application) Pending() resources.Vector { return a.pending }

// Allocated is what its allocations hold, without placeholders. Read-only.
func (a *Application) Allocated() resources.Vector { return a.allocated }

// Placeholders is what its placeholders hold. Read-only.
func (a *Application) Placeholders() resources.Vector { return a.placeholders }

// Work is the pending and the bound, in key order. It is made on every call.
func (a *Application) Work() []*Allocation {
	return a.work.sorted()
}

// MayStart reports whether the application may be given something now. In a
// StateAware leaf, of those that have not ramped up only the first may.
func (a *Application) MayStart() bool {
	q := a.queue
	return q.rule.sort != policies.StateAware || a.ramped || q.newcomers.lowest() == a
}

func (p *Partition) addPending(x *Allocation) {
	p.changedWork(x)
	a, id := x.app, classOf(x)
	c := a.classes.of(id)
	known := c != nil
	if !known {
		c = newClass(id, a)
		p.dress(c, p.gateOf(a))
		a.classes.add(c)
	}
	if last := c.insert(x); known && (!last || x.LooksTogether()) {
		p.changes++ // another of c may be the one that looks, and a gang has another size
		p.overtake(c)
	}
	x.class = c
	p.notice(c)
	a.classes.stand(c)
	a.asks++
	a.priority.Add(policies.Pending(x.ask.Priority))
	a.pending.Add(x.shape.vector)
}

func (p *Partition) removePending(x *Allocation) {
	p.changedWork(x)
	a, c := x.app, x.class
	c.remove(x)
	x.class = nil
	if a.classes.stand(c); c.empty() {
		a.classes.remove(c)
		p.dress(c, open)
	} else {
		p.overtake(c) // the next one may be the first now, and its delays end later
	}
	if !c.empty() || x.LooksTogether() {
		p.changes++ // as when it came
	}
	a.asks--
	a.priority.Remove(policies.Pending(x.ask.Priority))
	a.pending.Sub(x.shape.vector)
}

// rekey brings the key up to date after a posting.
func (a *Application) rekey() {
	a.key.Priority = a.priority.Max()
	a.key.Started = a.made > 0
	if a.queue.rule.sort != policies.Fair {
		return
	}
	// behaviour.md 3.11: measured against the leaf's own guarantee, raw without one.
	a.key.Shares = a.key.Shares[:0]
	for k, used := range a.allocated {
		if used <= 0 {
			continue
		}
		share := resources.Raw(used)
		if g, ok := a.queue.guaranteed.At(resources.Kind(k)); ok && g > 0 {
			share = resources.Fraction(used, g)
		}
		a.key.Shares = append(a.key.Shares, share)
	}
	a.key.Shares.Sort()
}
