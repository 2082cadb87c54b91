package scheduler

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Ignored is a kind of request of an RM that changed nothing and to which the interface has no answer. Most
// are no errors, such as a second release of an allocation.
type Ignored uint8

// The kinds.
const (
	IgnoredRelease Ignored = iota // of an unknown ask or allocation, foreign ones included
	IgnoredRemoval                // of an unknown application
	IgnoredChange                 // of something other than the amounts of a known ask or allocation
)

func (i Ignored) String() string { return [...]string{"release", "removal", "change"}[i] }

// emitIgnored emits EventIgnored with the reason.
func (c *Core) emitIgnored(kind Ignored, key objects.AllocationKey, app objects.AppID, message string) {
	c.emit(Event{Kind: EventIgnored, Ignored: kind, Subject: AllocationRef{Key: key, App: app}, Message: message})
}

// emitIgnoredChanges emits the first difference, other than the amounts, between a known ask or allocation
// and a repeated one: only the amounts can change (PRI-2, ASK-27).
func (c *Core) emitIgnoredChanges(x *objects.Allocation, sent *objects.Ask) {
	known := x.Ask()
	differs := func(what string, known, sent any) {
		c.emitIgnored(IgnoredChange, x.Key(), x.Ask().App, fmt.Sprintf("its %s stays %v, not %v", what, known, sent))
	}
	switch {
	case known.Priority != sent.Priority:
		differs("priority", known.Priority, sent.Priority)
	case known.TaskGroup() != sent.TaskGroup():
		differs("task group", known.TaskGroup(), sent.TaskGroup())
	case known.Placeholder != sent.Placeholder:
		differs("being a placeholder", known.Placeholder, sent.Placeholder)
	case known.RequiredNode() != sent.RequiredNode() && x.Pending():
		differs("required node", known.RequiredNode(), sent.RequiredNode())
	case known.Policy != sent.Policy:
		differs("preemption policy", known.Policy, sent.Policy)
	}
}
