package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// AskGroup is the pending asks of one application with the same shape, priority and constraints, in
// order (PRE-92, ASK-32). If the first ask cannot be placed, none can; if it finds no victims, none
// does, except after a refusal by the resource manager (MarkUnschedulable, EachToEvaluate).
type AskGroup struct {
	id                   askGroupID
	app                  *Application
	asks                 []*Allocation // asks[head:] are pending, in the order of policies.CompareAsks
	head                 int32
	listIndex            int32                        // in askGroups.list
	PreemptorListed      bool                         // package preemption knows the group, and keeps this
	FirstAskChangeListed bool                         // likewise: its first ask may be another one
	hold                 hold                         // whether the asks wait for placeholders, or for each other
	maxAppsCheck         quota.MaxAppsCheck           // which max-applications slot of its shape it uses
	Allowed              int32                        // kept by the evaluation of waiting states of package scheduler
	key                  policies.AskKey              // of the first schedulable ask
	entry                feasibility.Entry[*AskGroup] // in askGroups.order, if there is a schedulable ask

	setbacks *setbacks // nil: there are none
}

// setbacks has what few groups have: asks that were refused.
type setbacks struct {
	unschedulable allocationList // refused on every node, until a requeue
	resumeAfter   askPosition    // where the next evaluation of preemption resumes; zero: at the first ask
	// other allocations refuse every node that the asks fit to all of them, until a requeue (MarkRefused)
	refused bool
}

// amendSetbacks returns the setbacks of g for a change, after which the caller must call dropSetbacks if there may be
// none left.
func (g *AskGroup) amendSetbacks() *setbacks {
	if g.setbacks == nil {
		g.setbacks = new(setbacks)
	}
	return g.setbacks
}

func (g *AskGroup) dropSetbacks() {
	if s := g.setbacks; s != nil && len(s.unschedulable) == 0 && s.resumeAfter == (askPosition{}) && !s.refused {
		g.setbacks = nil
	}
}

// hold is whether the asks of a group wait for placeholders of their task group, virtual ones included (GAN-4).
type hold uint8

const (
	notHeld   hold = iota
	heldBack       // they are not in the order
	heldReady      // they are in the order, and are placed together with the other members of their gang (GAN-21)
)

// askGroupID has what the asks of a group have in common. Age is no part of it: the first ask is the
// oldest, and an ask that becomes older stays entitled to preempt.
type askGroupID struct {
	shape       *feasibility.Shape
	taskGroup   string // a gang is evaluated together, so other asks must not wait behind it
	priority    int32
	preempts    bool          // the preemption policy allows an ask to have victims (PRE-8)
	placeholder bool          // the asks are placeholders of the task group
	affinity    *affinity.Ask // their constraints on the allocations around them, and their labels; nil: none
}

func askGroupIDOf(x *Allocation) askGroupID {
	return askGroupID{shape: x.shape, taskGroup: x.ask.TaskGroup(), priority: x.ask.Priority,
		preempts: x.ask.Policy.AllowPreemptOther(), placeholder: x.IsPlaceholder(), affinity: x.constraints()}
}

func newAskGroup(id askGroupID, a *Application) *AskGroup {
	c := &AskGroup{id: id, app: a}
	c.entry.Mask = id.shape.Mask()
	return c
}

// Shape is the shape of every ask of the group.
func (g *AskGroup) Shape() *feasibility.Shape { return g.id.shape }

// SchedulableAsks are the pending asks that are not unschedulable, in order. Read-only, valid until
// the partition changes.
func (g *AskGroup) SchedulableAsks() []*Allocation { return g.asks[g.head:] }

// insert adds x to the schedulable asks. last reports whether it is the last pending ask of g.
func (g *AskGroup) insert(x *Allocation) (last bool) {
	i, found := g.find(x)
	if found {
		panic("objects: ask " + string(x.Key()) + " is pending twice")
	}
	last = i == len(g.SchedulableAsks()) && len(g.unschedulableAsks()) == 0
	if i == 0 && g.head > 0 { // the usual case of an ask that was taken from the front
		g.head--
		g.asks[g.head] = x
		return last
	}
	g.asks = slices.Insert(g.asks, int(g.head)+i, x)
	return last
}

// beforeLast is the schedulable ask before the last. Requires: there is one.
func (g *AskGroup) beforeLast() *Allocation { return g.asks[len(g.asks)-2] }

func (g *AskGroup) remove(x *Allocation) {
	i, found := g.find(x)
	if !found {
		g.removeUnschedulable(x)
		return
	}
	if i > 0 {
		at := int(g.head) + i
		g.asks = slices.Delete(g.asks, at, at+1)
		return
	}
	g.asks[g.head] = nil
	g.head++
	if g.head > 64 && int(g.head) > len(g.asks)/2 {
		g.asks, g.head = slices.Clone(g.asks[g.head:]), 0
	}
}

// unschedulableAsks are the asks that were refused on every node, in no order. Read-only.
func (g *AskGroup) unschedulableAsks() allocationList {
	if g.setbacks == nil {
		return nil
	}
	return g.setbacks.unschedulable
}

func (g *AskGroup) addUnschedulable(x *Allocation) {
	g.amendSetbacks().unschedulable.add(x, indexInUnschedulable)
}

func (g *AskGroup) removeUnschedulable(x *Allocation) {
	g.amendSetbacks().unschedulable.remove(x, indexInUnschedulable)
	g.dropSetbacks()
}

// takeUnschedulable removes all unschedulable asks from g and returns them.
func (g *AskGroup) takeUnschedulable() allocationList {
	all := g.unschedulableAsks()
	if g.setbacks != nil {
		g.setbacks.unschedulable = nil
		g.dropSetbacks()
	}
	return all
}

// isUnschedulable reports whether x is one of the unschedulable asks.
func (g *AskGroup) isUnschedulable(x *Allocation) bool {
	all := g.unschedulableAsks()
	return all.has(x, indexInUnschedulable)
}

// empty reports whether g has no pending ask.
func (g *AskGroup) empty() bool { return g.PendingCount() == 0 }

// hasSchedulable reports whether g has a schedulable ask.
func (g *AskGroup) hasSchedulable() bool { return len(g.SchedulableAsks()) > 0 }

// mayBePlaced reports whether g has a schedulable ask, is not held back or may be placed together with others, and not
// every node is refused to it.
func (g *AskGroup) mayBePlaced() bool {
	return g.hasSchedulable() && g.hold != heldBack && !g.refused()
}

// refused reports whether every node that the asks of g fit is refused to all of them, until a requeue.
func (g *AskGroup) refused() bool { return g.setbacks != nil && g.setbacks.refused }

// clearRefused reverts MarkRefused, but for the order.
func (g *AskGroup) clearRefused() {
	if g.setbacks != nil {
		g.setbacks.refused = false
		g.dropSetbacks()
	}
}

// Constrained reports whether x has constraints on the allocations around it. Then all asks of its group have the same,
// and the same labels: what refuses one refuses all.
func (x *Allocation) Constrained() bool { return x.constraints() != nil }

// constraints is the constraints of x on the allocations around it; nil: none.
func (x *Allocation) constraints() *affinity.Ask {
	if a := x.ask.Affinity(); a.Key() != "" {
		return a
	}
	return nil
}

// Held reports whether the asks of g wait for placeholders of their task group (GAN-4).
func (g *AskGroup) Held() bool { return g.hold != notHeld }

func (g *AskGroup) find(x *Allocation) (int, bool) {
	if g.hasSchedulable() && g.asks[g.head] == x { // the usual case
		return 0, true
	}
	return slices.BinarySearchFunc(g.SchedulableAsks(), x, func(a, b *Allocation) int {
		return policies.CompareAsks(&a.key, &b.key)
	})
}
