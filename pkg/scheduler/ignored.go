package scheduler

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Ignored is a kind of thing that an RM sent, that changed nothing, and that the interface has no
// answer for. Most are no mistake: what is released twice is gone all the same.
type Ignored uint8

// The kinds.
const (
	IgnoredRelease Ignored = iota // of an unknown ask or allocation, foreign ones included
	IgnoredRemoval                // of an unknown application
	IgnoredChange                 // of something other than the amounts of a known ask or allocation
)

func (i Ignored) String() string { return [...]string{"release", "removal", "change"}[i] }

// ignore says that something was ignored, and why.
func (c *Core) ignore(kind Ignored, key objects.AllocationKey, app objects.AppID, why string) {
	c.emit(Noted{What: NoteIgnored, Ignored: kind, Who: Party{Key: key, App: app}, Why: why})
}

// ignoreChanges says what is different about work that is known: only its amounts can change.
func (c *Core) ignoreChanges(x *objects.Allocation, sent *objects.Ask) {
	is := x.Ask()
	differs := func(what string, is, sent any) {
		c.ignore(IgnoredChange, x.Key(), x.Ask().App, fmt.Sprintf("its %s stays %v, not %v", what, is, sent))
	}
	switch {
	case is.Priority != sent.Priority:
		differs("priority", is.Priority, sent.Priority)
	case is.TaskGroup != sent.TaskGroup:
		differs("task group", is.TaskGroup, sent.TaskGroup)
	case is.Placeholder != sent.Placeholder:
		differs("being a placeholder", is.Placeholder, sent.Placeholder)
	case is.RequiredNode != sent.RequiredNode && x.Pending():
		differs("required node", is.RequiredNode, sent.RequiredNode)
	case is.Policy != sent.Policy:
		differs("preemption policy", is.Policy, sent.Policy)
	}
}
