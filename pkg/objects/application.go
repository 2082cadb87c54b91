package objects

import (
	"container/list"
	"iter"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Application is the asks and allocations of one user in one leaf.
//
// The fields that decisions read come first, in groups of 64 bytes that are read together (behind 8 bytes that the
// allocator adds).
type Application struct {
	queue            *Queue
	gang             *gangs.Gang // nil: it declared none, and never had a placeholder
	pendingCount     int32       // number of pending asks
	boundCount       int32       // number of allocations
	listIndex        int32       // in objectLists.apps
	groupPriority    int32       // of its victim groups, if hasGroupPriority (PRE-51)
	raised           int32       // see RaisePriority
	hasGroupPriority bool
	state            lifecycle.State
	rampedUp         bool  // for StateAware leaves (ORD-33)
	onHold           bool  // an operator holds it (OPS-1)
	cancelled        bool  // an operator has cancelled it (OPS-7)
	changeRecorded   bool  // in snapshotChanges.watch
	Unsettled        bool  // kept by the evaluation of waiting states of package scheduler
	allocationsMade  uint8 // number of allocations ever made, counted up to RampAllocations
	firstAllocatedAt int64 // when the first of its allocations was made, in nanoseconds since 1970

	askGroups askGroups                       // of the pending asks
	entry     feasibility.Entry[*Application] // in queue.apps, if it has pending asks
	key       policies.AppKey                 // in the indexes of its leaf

	priority policies.PriorityCounter
	pending  resources.Vector // requested by pending asks

	allocated    resources.Vector   // used by allocations, without placeholders
	peak         resources.Vector   // the maximum of that or of placeholders, per resource
	usageHistory lifecycle.UsageSum // of ended allocations

	buffers appBuffers
	quota   quota.Application // with the user and the accounts that limit it

	tags        map[string]string
	log         lifecycle.Log
	allocations allocationList // pending and bound
	extra       *appExtra      // noAppExtra: there never was anything of it
}

// appBuffers is the storage of short vectors and masks, so that they are in the memory of the application. Longer ones
// are allocated elsewhere.
type appBuffers struct {
	pending, allocated, peak [shortVector]resources.Quantity
	mask                     [shortMask]uint64
}

// ID is the ID that the RM has chosen.
func (a *Application) ID() AppID { return AppID(a.key.ID) }

// User is the submitting user, with groups.
func (a *Application) User() security.User { return a.quota.User() }

// Quota is the quota side of a. Read-only.
func (a *Application) Quota() *quota.Application { return &a.quota }

// Constraints are the constraints of a.
func (a *Application) Constraints() quota.Constraints { return a.quota.Constraints() }

// Tags are the tags that the RM has sent. Read-only.
func (a *Application) Tags() map[string]string { return a.tags }

// Queue is the leaf of the application.
func (a *Application) Queue() *Queue { return a.queue }

// State is the state of the application.
func (a *Application) State() lifecycle.State { return a.state }

// StateLog is the states that the application entered after New, oldest first. A long log lacks the
// middle. Read-only.
func (a *Application) StateLog() []lifecycle.Change { return a.log }

// Submitted returns when the application was submitted or, if earlier, its oldest ask was created
// (ORD-28).
func (a *Application) Submitted() time.Time { return time.Unix(0, a.key.Submitted).UTC() }

// RaisePriority sets what an application that has no allocation counts for in selection order above its priority, at
// least 0. It ends with the first allocation (PRI-50).
func RaisePriority(p *Partition, a *Application, by int32) {
	a.raised = by
	p.reindex(a)
	p.journal.post(Change{Kind: TurnChanged, App: a})
}

// SetApplicationUsageOverTime sets by what a is compared with the applications of its leaf if they are ordered by usage
// over time (FAI-4). The caller has a reindexed.
func SetApplicationUsageOverTime(a *Application, n decay.Number) { a.key.Usage = n }

// ReindexApplication updates the position of a in its leaf.
func ReindexApplication(p *Partition, a *Application) {
	a.reindexEntry()
	p.journal.post(Change{Kind: TurnChanged, App: a})
}

// Raised returns what RaisePriority has set.
func (a *Application) Raised() int32 { return a.raised }

// Aged returns what a counts for in selection order above its priority: Raised, or 0 if it has an allocation (PRI-50).
func (a *Application) Aged() int32 {
	if a.boundCount > 0 {
		return 0
	}
	return a.raised
}

// BoundCount returns how many allocations a has, with placeholders.
func (a *Application) BoundCount() int { return int(a.boundCount) }

// EverAllocated reports whether a has or had an allocation, as far as this partition knows.
func (a *Application) EverAllocated() bool { return a.allocationsMade > 0 }

// AskMaxPriority is the highest priority of the pending asks.
func (a *Application) AskMaxPriority() policies.CurrentPriority { return a.priority.Max() }

// RestrictToHeadroom removes from f the shapes for which the user limit or the group limit of a
// leaves no headroom (LIM-11).
func (a *Application) RestrictToHeadroom(f feasibility.Mask) { a.quota.RestrictToHeadroom(f) }

// NextAskGroup is the first ask group with schedulable asks whose slot is in f. Requires: there is
// one.
func (a *Application) NextAskGroup(f feasibility.Mask) *AskGroup {
	c, _ := a.askGroups.order.First(f)
	return c
}

// EachAskGroup yields the ask groups of a, in no order.
func (a *Application) EachAskGroup(yield func(*AskGroup) bool) {
	for _, g := range a.askGroups.list {
		if !yield(g) {
			return
		}
	}
}

// FeasibleAskGroups are the ask groups with schedulable asks whose slot is in f, in order.
func (a *Application) FeasibleAskGroups(f feasibility.Mask) iter.Seq[*AskGroup] {
	return a.askGroups.order.EachIntersecting(f)
}

// Pending returns what the pending asks request. Read-only.
func (a *Application) Pending() resources.Vector { return a.pending }

// Allocated returns what the allocations use, without placeholders. Read-only.
func (a *Application) Allocated() resources.Vector { return a.allocated }

// Placeholders returns what the placeholders use. Read-only.
func (a *Application) Placeholders() resources.Vector { return a.extra.placeholders }

// Allocations are the pending asks and the allocations in key order, in a new slice.
func (a *Application) Allocations() []*Allocation {
	return a.allocations.sorted()
}

// StateAwareAllows reports whether the order of the leaf lets the application be allocated
// something now: in a StateAware leaf only the first starting application may, besides those that
// have ramped up.
func (a *Application) StateAwareAllows() bool {
	q := a.queue
	return q.policy.sort != policies.StateAware || a.rampedUp || q.FirstStarting() == a
}

// MayBeAllocated reports whether a may be allocated something now, as far as its queue and its operators are concerned:
// it is not suspended, and StateAwareAllows.
func (a *Application) MayBeAllocated() bool {
	return !a.Suspended() && a.StateAwareAllows()
}

// Suspended reports whether only an operator can let the asks of a be placed: it is on hold, a queue of its path is
// stopped, or it is in the recovery queue (OPS-1, OPS-2, PLC-34).
func (a *Application) Suspended() bool {
	return a.onHold || a.queue.policy.stopped || a.queue.policy.recovery
}

func (p *Partition) addPending(x *Allocation) {
	a, id := x.app, askGroupIDOf(x)
	group, in := a.askGroups.find(id), InsideGroup
	if group == nil {
		in = FirstOfNewGroup
		group = newAskGroup(id, a)
		group.hold = a.holdOf(id)
		p.setMaxAppsCheck(group, p.quotas.MaxAppsCheckOf(&a.quota))
		a.askGroups.add(group)
	}
	if last := group.insert(x); last && in == InsideGroup && p.Nomination(group.beforeLast()) == nil {
		in = LastOfGroup
	}
	x.group = group
	p.journal.post(Change{Kind: AskAdded, Ask: x, Position: in})
	a.askGroups.reindex(group)
	p.Gangs().memberAdded(x)
	a.pendingCount++
	a.priority.Add(policies.Pending(x.ask.Priority))
	a.pending.Add(x.shape.Vector())
}

func (p *Partition) removePending(x *Allocation) {
	a, group := x.app, x.group
	group.remove(x)
	x.group = nil
	a.askGroups.reindex(group)
	if group.empty() {
		a.askGroups.remove(group)
		p.setMaxAppsCheck(group, quota.MaxAppsUnchecked)
	}
	p.journal.post(Change{Kind: AskRemoved, Ask: x, Group: group})
	p.Gangs().memberRemoved(x)
	a.pendingCount--
	a.priority.Remove(policies.Pending(x.ask.Priority))
	a.pending.Sub(x.shape.Vector())
}

// rekey updates the sort key of a after a quantity changed.
func (a *Application) rekey() {
	a.key.Priority = a.priority.Max().Raised(a.Aged())
	a.key.Started = a.allocationsMade > 0
	if a.queue.policy.sort != policies.Fair {
		return
	}
	// Usage is compared as shares of the guarantee of the leaf, without one as plain quantities
	// (ORD-29, ORD-30).
	a.key.Shares = a.key.Shares[:0]
	for k, used := range a.allocated {
		if used <= 0 {
			continue
		}
		share := resources.RawShare(used)
		if g, ok := a.queue.quota.Guaranteed().At(resources.Index(k)); ok && g > 0 {
			share = resources.Fraction(used, g)
		}
		a.key.Shares = append(a.key.Shares, share)
	}
	a.key.Shares.Sort()
}

// appExtra holds what few applications have at a time: those in a StateAware leaf, gangs, and those that complete.
type appExtra struct {
	startingEntry feasibility.Entry[*Application] // in queue.starting
	// in deadlines.newApps or completing; nil: in another state, or its time has passed
	deadlineEntry *list.Element
	placeholders  resources.Vector   // used by placeholders
	formerPeak    *resources.Amounts // Application.peak for names that lost their index since; nil: none
}

// noAppExtra is the shared zero value; it must not be modified.
var noAppExtra appExtra

// ownExtra returns the appExtra of a for modification.
func (a *Application) ownExtra() *appExtra {
	if a.extra == &noAppExtra {
		a.extra = &appExtra{}
	}
	return a.extra
}
