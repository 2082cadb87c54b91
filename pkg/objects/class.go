package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Class is the pending asks of one application that are alike in all that decides where they
// may be placed and whether they may preempt, oldest first. If the first of them cannot be
// placed, none can; if the first finds no victims, none does: unless the resource manager refuses
// the first one (SetAside, EachToEvaluate).
type Class struct {
	id      classID
	app     *Application
	asks    []*Allocation // asks[head:] are pending, in the order of policies.CompareAsks
	head    int
	place   int32           // in the application's list of classes
	noticed bool            // it was fresh once: package preemption knows of it
	passed  bool            // it is in Partition.overtaken
	gate    gate            // whose slot of its shape it has
	key     policies.AskKey // of the first ask to try
	turn    entry[*Class]   // among the application's classes, if there is an ask to try

	aside roster // refused by the RM on every node, until there is news

	refused *askPlace // where the next evaluation of preemption goes on; nil: at the front
}

// classID is what the asks of a class have in common. The age of an ask is not part of it:
// the first ask is the oldest, and an ask loses no right to preempt by growing older.
type classID struct {
	priority  int32
	shape     *Shape
	preempts  bool   // the preemption policy allows an ask to have victims (P8)
	taskGroup string // a gang preempts together or not at all, so another must not wait behind it
}

func classOf(x *Allocation) classID {
	return classID{x.ask.Priority, x.shape, x.ask.Policy.Other(), x.ask.TaskGroup}
}

func newClass(id classID, a *Application) *Class {
	c := &Class{id: id, app: a}
	c.turn.who, c.turn.can = c, id.shape.only
	return c
}

// Priority is the priority of every ask of the class.
func (c *Class) Priority() int32 { return c.id.priority }

// Shape is the shape of every ask of the class.
func (c *Class) Shape() *Shape { return c.id.shape }

// Asks are the pending asks that are not set aside, in the order in which they should be
// tried. Read-only, and good until the partition changes.
func (c *Class) Asks() []*Allocation { return c.asks[c.head:] }

// insert puts x among the pending. last reports whether it comes after all others.
func (c *Class) insert(x *Allocation) (last bool) {
	i, found := c.find(x)
	if found {
		panic("objects: ask " + string(x.Key()) + " is pending twice")
	}
	last = i == len(c.Asks()) && len(c.aside) == 0
	if i == 0 && c.head > 0 { // the usual way back for an ask that was taken from the front
		c.head--
		c.asks[c.head] = x
		return last
	}
	c.asks = slices.Insert(c.asks, c.head+i, x)
	return last
}

func (c *Class) remove(x *Allocation) {
	i, found := c.find(x)
	if !found {
		c.aside.remove(x, placeAside)
		return
	}
	if i > 0 {
		c.asks = slices.Delete(c.asks, c.head+i, c.head+i+1)
		return
	}
	c.asks[c.head] = nil
	if c.head++; c.head > 64 && c.head > len(c.asks)/2 {
		c.asks, c.head = slices.Clone(c.asks[c.head:]), 0
	}
}

// empty reports whether nothing of the class is pending.
func (c *Class) empty() bool { return len(c.Asks())+len(c.aside) == 0 }

// hopeful reports whether there is an ask to try.
func (c *Class) hopeful() bool { return len(c.Asks()) > 0 }

func (c *Class) find(x *Allocation) (int, bool) {
	if c.hopeful() && c.asks[c.head] == x { // nearly always: it is its turn
		return 0, true
	}
	return slices.BinarySearchFunc(c.Asks(), x, func(a, b *Allocation) int {
		return policies.CompareAsks(&a.key, &b.key)
	})
}
