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

	allocations  allocationList // pending and bound
	askGroups    askGroups      // of the pending asks
	pendingCount int            // how many are pending
	boundCount   int            // how many have a node
	priority     policies.PriorityCounter

	pending      resources.Vector   // asked for
	allocated    resources.Vector   // held by real allocations
	placeholders resources.Vector   // held by placeholders
	peak         resources.Vector   // the most that either of the two ever was
	formerPeak   *resources.Amounts // the same, of names that were gone in between; nil: none
	usageHistory *UsageHistory      // what its ended allocations used; nil: none ran for a second

	allocationsMade  int          // allocations ever made
	firstAllocatedAt time.Time    // when the first of them was made
	rampedUp         bool         // has ramped up: only StateAware leaves ask
	changeRecorded   bool         // it is in Partition.watch
	listIndex        int32        // in Partition.appList
	countedRunning   bool         // is counted among the running applications of its queues
	countedInLimits  bool         // and of its limits
	restarting       bool         // has asked again after it had nothing left, and was given nothing since
	memberships      []membership // in the accounts that limit it

	groupPriority    int32 // of its groups, if hasGroupPriority
	hasGroupPriority bool

	completingEntry *list.Element // in partition.completing; nil: it does not complete, or its time is up

	key           policies.AppKey     // as it stands in the indexes of its leaf
	entry         entry[*Application] // in queue.apps, if it asks for something
	startingEntry entry[*Application] // in queue.newcomers
	buffers       appBuffers
}

// appBuffers is for an application what queueBuffers is for a queue.
type appBuffers struct {
	pending, allocated, peak [shortVector]resources.Quantity
	mask                     [shortMask]uint64
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
func (a *Application) AskMaxPriority() policies.CurrentPriority { return a.priority.Max() }

// RestrictToHeadroom takes out of f the shapes that the user or the group of a has no headroom for.
func (a *Application) RestrictToHeadroom(f Mask) {
	for _, s := range a.memberships {
		f.intersectWith(s.account.fit)
	}
}

// NextAskGroup is the class whose turn it is among those whose shape is in f. Requires: one of
// those with something to try is.
func (a *Application) NextAskGroup(f Mask) *AskGroup {
	c, _ := a.askGroups.order.first(f)
	return c
}

// FeasibleAskGroups are the classes with something to try whose shape, or its band, is in f, in
// turn.
func (a *Application) FeasibleAskGroups(f Mask) iter.Seq[*AskGroup] {
	return a.askGroups.order.eachIntersecting(f)
}

// Pending is what the application asks for. Read-only.
func (a *Application) Pending() resources.Vector { return a.pending }

// Allocated is what its allocations hold, without placeholders. Read-only.
func (a *Application) Allocated() resources.Vector { return a.allocated }

// Placeholders is what its placeholders hold. Read-only.
func (a *Application) Placeholders() resources.Vector { return a.placeholders }

// Allocations is the pending and the bound, in key order. It is made on every call.
func (a *Application) Allocations() []*Allocation {
	return a.allocations.sorted()
}

// StateAwareAllows reports whether the application may be given something now. In a
// StateAware leaf, of those that have not ramped up only the first may.
func (a *Application) StateAwareAllows() bool {
	q := a.queue
	return q.policy.sort != policies.StateAware || a.rampedUp || q.starting.lowest() == a
}

func (p *Partition) addPending(x *Allocation) {
	p.recordAllocationChange(x)
	a, id := x.app, askGroupIDOf(x)
	group := a.askGroups.find(id)
	known := group != nil
	if !known {
		group = newAskGroup(id, a)
		p.setMaxAppsCheck(group, p.maxAppsCheckOf(a))
		a.askGroups.add(group)
	}
	if last := group.insert(x); known && (!last || x.PreemptsAsGang()) {
		p.preemptionGeneration++ // another of c may be the one that looks, and a gang has another size
		p.noteFirstAskChange(group)
	}
	x.group = group
	p.addPreemptor(group)
	a.askGroups.reindex(group)
	a.pendingCount++
	a.priority.Add(policies.Pending(x.ask.Priority))
	a.pending.Add(x.shape.vector)
}

func (p *Partition) removePending(x *Allocation) {
	p.recordAllocationChange(x)
	a, group := x.app, x.group
	group.remove(x)
	x.group = nil
	if a.askGroups.reindex(group); group.empty() {
		a.askGroups.remove(group)
		p.setMaxAppsCheck(group, maxAppsUnchecked)
	} else {
		p.noteFirstAskChange(group) // the next one may be the first now, and its delays end later
	}
	if !group.empty() || x.PreemptsAsGang() {
		p.preemptionGeneration++ // as when it came
	}
	a.pendingCount--
	a.priority.Remove(policies.Pending(x.ask.Priority))
	a.pending.Sub(x.shape.vector)
}

// rekey brings the key up to date after a posting.
func (a *Application) rekey() {
	a.key.Priority = a.priority.Max()
	a.key.Started = a.allocationsMade > 0
	if a.queue.policy.sort != policies.Fair {
		return
	}
	// behaviour.md 3.11: measured against the leaf's own guarantee, raw without one.
	a.key.Shares = a.key.Shares[:0]
	for k, used := range a.allocated {
		if used <= 0 {
			continue
		}
		share := resources.RawShare(used)
		if g, ok := a.queue.guaranteed.At(resources.Index(k)); ok && g > 0 {
			share = resources.Fraction(used, g)
		}
		a.key.Shares = append(a.key.Shares, share)
	}
	a.key.Shares.Sort()
}
