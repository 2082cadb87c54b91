package scheduler

import (
	"cmp"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Ignored is a kind of request of an RM that changed nothing, or not what it says, and to which the interface has no
// answer. Most are no errors, such as a second release of an allocation. What contradicts the state is rejected instead
// (contradiction).
type Ignored uint8

// The kinds.
const (
	IgnoredRelease    Ignored = iota // of an unknown ask or allocation, foreign ones included
	IgnoredRemoval                   // of an unknown application
	IgnoredChange                    // of a part of a known ask or allocation that is no contradiction
	IgnoredTaskGroup                 // of a new ask: its application has task groups, and none of this name
	UnmetRequiredNode                // of a new ask: it cannot be placed on the node as things are
)

func (i Ignored) String() string {
	return [...]string{"release", "removal", "change", "task group", "required node"}[i]
}

// Title begins the record of an event of the kind.
func (i Ignored) Title() string {
	if i == UnmetRequiredNode {
		return "Unmet required node"
	}
	return "Ignored " + i.String()
}

// emitIgnored emits EventIgnored with the reason.
func (c *Core) emitIgnored(kind Ignored, key objects.AllocationKey, app objects.AppID, message string) {
	c.emit(Event{Kind: EventIgnored, Ignored: kind, Subject: AllocationRef{Key: key, App: app}, Message: message})
}

// constraintKey is the key of the constraints that tags say, or what is wrong with them; "none" if there are none.
func (c *Core) constraintKey(tags map[string]string) string {
	parsed, err := c.constraints.parse(tags)
	switch {
	case err != nil:
		return err.Error()
	case parsed == nil:
		return "none"
	}
	return cmp.Or(parsed.Nodes.Key()+parsed.Affinity.Key(), "none")
}

// contradictionError says why a repeated ask or report is rejected (ASK-27).
type contradictionError string

// Error implements error.
func (e contradictionError) Error() string { return string(e) }

// contradiction returns how a repeated ask or report differs from the known one in what cannot change; nil:
// nothing. node is where it is reported; empty: it is an ask (PRI-2, ASK-27, ASK-44, RMI-59).
//
// A priority that follows from a class is no contradiction: the class may have changed since, and the resource manager
// has sent what it always sent. Nor is a preemption policy, which shims read anew from their objects for each message.
func (c *Core) contradiction(x *objects.Allocation, priorityClass string, sent *objects.Ask,
	node objects.NodeID) error {
	known := x.Ask()
	differs := func(what string, known, sent any) error {
		return contradictionError(fmt.Sprintf("key %s of application %s is known: its %s stays %#v, not %#v", x.Key(),
			x.Ask().App, what, known, sent))
	}
	byClass := priorityClass != "" || c.part.PriorityClass(x) != ""
	switch {
	case known.Priority != sent.Priority && !byClass:
		return differs("priority", known.Priority, sent.Priority)
	case known.TaskGroup() != sent.TaskGroup():
		return differs("task group", known.TaskGroup(), sent.TaskGroup())
	case known.Placeholder != sent.Placeholder:
		return differs("being a placeholder", known.Placeholder, sent.Placeholder)
	case node == "" && known.RequiredNode() != sent.RequiredNode() && x.Pending():
		return differs("required node", known.RequiredNode(), sent.RequiredNode())
	case node != "" && !x.Pending() && x.Node().ID() != node:
		return differs("node", x.Node().ID(), node)
	}
	c.emitIgnoredChanges(x, sent)
	return nil
}

// emitIgnoredChanges emits a difference between a known ask or allocation and a repeated one that is neither applied
// nor a contradiction (PRI-2, ASK-27).
func (c *Core) emitIgnoredChanges(x *objects.Allocation, sent *objects.Ask) {
	known := x.Ask()
	differs := func(what string, known, sent any) {
		c.emitIgnored(IgnoredChange, x.Key(), x.Ask().App, fmt.Sprintf("its %s stays %v, not %v", what, known, sent))
	}
	if known.Priority != sent.Priority {
		differs("priority", known.Priority, sent.Priority)
	}
	if c.constraintKey(known.Tags()) != c.constraintKey(sent.Tags()) {
		differs("constraint on nodes", c.constraintKey(known.Tags()), c.constraintKey(sent.Tags()))
	}
	if !affinity.SameLabels(known.Tags(), sent.Tags()) {
		differs("labels", affinity.LabelsText(known.Tags()), affinity.LabelsText(sent.Tags()))
	}
	if !x.Pending() && known.RequiredNode() != sent.RequiredNode() {
		differs("required node", cmp.Or(string(known.RequiredNode()), "none"), cmp.Or(string(sent.RequiredNode()), "none"))
	}
	if known.Policy != sent.Policy {
		differs("preemption policy", known.Policy, sent.Policy)
	}
	if known.Originator != sent.Originator {
		differs("being an originator", known.Originator, sent.Originator)
	}
}

// emitUnmet emits what a new ask says that its application or the nodes do not meet. The ask is accepted: the task
// group is no part of a gang then (ASK-65), and the node may come (ASK-66).
func (c *Core) emitUnmet(x *objects.Allocation) {
	ask := x.Ask()
	if name := ask.TaskGroup(); name != "" && !x.Application().Gang().Admits(name) {
		c.emitIgnored(IgnoredTaskGroup, ask.Key, ask.App,
			fmt.Sprintf("its application has no task group %q: it is an ordinary ask", name))
	}
	if ask.RequiredNode() == "" {
		return
	}
	var v Verdict
	v.Reason, v.Subject = c.permanentReason(x, false)
	switch v.Reason {
	case UnknownNode, NoNodeAdmitted, AskExceedsNodes:
		c.emitIgnored(UnmetRequiredNode, ask.Key, ask.App, v.String())
	}
}
