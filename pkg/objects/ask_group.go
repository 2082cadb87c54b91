package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// AskGroup is the pending asks of one application that are alike in all that decides where they
// may be placed and whether they may preempt, oldest first. If the first of them cannot be
// placed, none can; if the first finds no victims, none does: unless the resource manager refuses
// the first one (MarkUnschedulable, EachToEvaluate).
type AskGroup struct {
	id                   askGroupID
	app                  *Application
	asks                 []*Allocation // asks[head:] are pending, in the order of policies.CompareAsks
	head                 int
	listIndex            int32            // in the application's list of classes
	preemptorListed      bool             // it was fresh once: package preemption knows of it
	firstAskChangeListed bool             // it is in Partition.firstAskChanged
	maxAppsCheck         maxAppsCheck     // whose slot of its shape it has
	key                  policies.AskKey  // of the first ask to try
	entry                entry[*AskGroup] // among the application's classes, if there is an ask to try

	unschedulable allocationList // refused by the RM on every node, until there is news

	resumeAfter *askPosition // where the next evaluation of preemption goes on; nil: at the front
}

// askGroupID is what the asks of a class have in common. The age of an ask is not part of it:
// the first ask is the oldest, and an ask loses no right to preempt by growing older.
type askGroupID struct {
	priority  int32
	shape     *Shape
	preempts  bool   // the preemption policy allows an ask to have victims (P8)
	taskGroup string // a gang preempts together or not at all, so another must not wait behind it
}

func askGroupIDOf(x *Allocation) askGroupID {
	return askGroupID{x.ask.Priority, x.shape, x.ask.Policy.AllowPreemptOther(), x.ask.TaskGroup}
}

func newAskGroup(id askGroupID, a *Application) *AskGroup {
	c := &AskGroup{id: id, app: a}
	c.entry.item, c.entry.mask = c, id.shape.slotMask
	return c
}

// Priority is the priority of every ask of the class.
func (g *AskGroup) Priority() int32 { return g.id.priority }

// Shape is the shape of every ask of the class.
func (g *AskGroup) Shape() *Shape { return g.id.shape }

// SchedulableAsks are the pending asks that are not set aside, in the order in which they should be
// tried. Read-only, and good until the partition changes.
func (g *AskGroup) SchedulableAsks() []*Allocation { return g.asks[g.head:] }

// insert puts x among the pending. last reports whether it comes after all others.
func (g *AskGroup) insert(x *Allocation) (last bool) {
	i, found := g.find(x)
	if found {
		panic("objects: ask " + string(x.Key()) + " is pending twice")
	}
	last = i == len(g.SchedulableAsks()) && len(g.unschedulable) == 0
	if i == 0 && g.head > 0 { // the usual way back for an ask that was taken from the front
		g.head--
		g.asks[g.head] = x
		return last
	}
	g.asks = slices.Insert(g.asks, g.head+i, x)
	return last
}

func (g *AskGroup) remove(x *Allocation) {
	i, found := g.find(x)
	if !found {
		g.unschedulable.remove(x, indexInUnschedulable)
		return
	}
	if i > 0 {
		g.asks = slices.Delete(g.asks, g.head+i, g.head+i+1)
		return
	}
	g.asks[g.head] = nil
	if g.head++; g.head > 64 && g.head > len(g.asks)/2 {
		g.asks, g.head = slices.Clone(g.asks[g.head:]), 0
	}
}

// empty reports whether nothing of the class is pending.
func (g *AskGroup) empty() bool { return len(g.SchedulableAsks())+len(g.unschedulable) == 0 }

// hasSchedulable reports whether there is an ask to try.
func (g *AskGroup) hasSchedulable() bool { return len(g.SchedulableAsks()) > 0 }

func (g *AskGroup) find(x *Allocation) (int, bool) {
	if g.hasSchedulable() && g.asks[g.head] == x { // nearly always: it is its turn
		return 0, true
	}
	return slices.BinarySearchFunc(g.SchedulableAsks(), x, func(a, b *Allocation) int {
		return policies.CompareAsks(&a.key, &b.key)
	})
}
