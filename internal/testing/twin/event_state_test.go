package twin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// eventState is the state according to the events of a Core: it must equal that of the twin.
type eventState struct {
	nominated    map[objects.AllocationKey]objects.NodeID // nominated, and the nomination has not ended
	reserved     map[objects.AllocationKey]objects.NodeID // with a reservation that has not ended
	preempting   map[objects.AllocationKey]bool
	overdue      map[objects.AllocationKey]bool
	queueChanges []string        // changes of queues in the last step, sorted as text
	cycles       []string        // preemption cycles
	coolDowns    map[string]bool // by two leaves, or one twice
	refused      map[string]bool // refusals that have not ended, by refusalText
}

func newEventState() *eventState {
	return &eventState{map[objects.AllocationKey]objects.NodeID{}, map[objects.AllocationKey]objects.NodeID{},
		map[objects.AllocationKey]bool{}, map[objects.AllocationKey]bool{}, nil, nil, map[string]bool{}, map[string]bool{}}
}

// consume removes the events and queue changes from effects and applies them. Its problem is an invalid
// event.
func (n *eventState) consume(effects []scheduler.Effect) (remaining []scheduler.Effect, problem string) {
	n.queueChanges = nil
	defer func() { slices.Sort(n.queueChanges) }()
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.QueueChanged:
			n.queueChanges = append(n.queueChanges, e.String())
			continue
		case scheduler.Event:
			if !n.apply(e) {
				problem = fmt.Sprintf("it notes what cannot be: %s", e)
			}
			continue
		case scheduler.PartitionReset:
			queues := n.queueChanges
			*n = *newEventState()
			n.queueChanges = queues
		}
		remaining = append(remaining, e)
	}
	return remaining, problem
}

func (n *eventState) apply(e scheduler.Event) (fine bool) {
	key := e.Subject.Key
	switch e.Kind {
	case scheduler.EventPreempted:
		fine = !n.preempting[key]
		n.preempting[key] = true
	case scheduler.EventOverdue:
		fine = n.preempting[key] && !n.overdue[key] && !e.Since.IsZero()
		n.overdue[key] = true
	case scheduler.EventNominated:
		fine = n.nominated[key] == ""
		n.nominated[key] = e.Node
	case scheduler.EventNominationEnded:
		fine = n.nominated[key] == e.Node && !e.Since.IsZero() && e.NominationEnd != preemption.NominationWaiting
		delete(n.nominated, key)
	case scheduler.EventReserved:
		fine = n.reserved[key] == ""
		n.reserved[key] = e.Node
	case scheduler.EventReservationEnded:
		fine = n.reserved[key] == e.Node && !e.Since.IsZero()
		delete(n.reserved, key)
	case scheduler.EventReservationsMoved:
		fine = len(e.Moved) > 0
		for _, m := range e.Moved {
			fine = fine && n.reserved[m.Key] != "" && n.reserved[m.Key] != m.Node
			n.reserved[m.Key] = m.Node
		}
	case scheduler.EventNodeRefused:
		fine = !n.refused[refusalText(e.OfShape, key, e.Node)] && e.Until.After(e.Since) && e.Count > 0
		n.refused[refusalText(e.OfShape, key, e.Node)] = true
	case scheduler.EventNodeRefusalEnded:
		fine = !e.Since.IsZero() && e.Message != ""
		delete(n.refused, refusalText(e.OfShape, key, e.Node))
	case scheduler.EventPreemptionCycle:
		fine = len(e.Cycle) > 0
		n.cycles = append(n.cycles, e.Cycle.String())
		for i, leaf := range e.Cycle {
			if !e.Until.IsZero() {
				n.coolDowns[queuePair(leaf, e.Cycle[(i+1)%len(e.Cycle)])] = true
			}
		}
	case scheduler.EventIgnored, scheduler.EventPlaceholderTooSmall, scheduler.EventOrphaned:
		fine = e.Message != ""
	case scheduler.EventCoolDownEnded:
		name := queuePair(e.Cycle[0], e.Cycle[len(e.Cycle)-1])
		fine = n.coolDowns[name] && !e.Since.IsZero()
		delete(n.coolDowns, name)
	}
	return fine
}

func refusalText(alike bool, key objects.AllocationKey, node objects.NodeID) string {
	return fmt.Sprint(node, " refuses ", key, alike)
}

func queuePair(a, b objects.QueuePath) string { return fmt.Sprint(min(a, b), " ", max(a, b)) }

// differences compares the events with the state of the twin. A removed ask has no event.
func (n *eventState) differences(t *Twin) (lines []string) {
	differ := func(w *allocation, what string, noted, is any) {
		if noted != is {
			lines = append(lines, fmt.Sprintf("%s: it was noted that %s is %v, the twin says %v", w.ask.Key, what, noted, is))
		}
	}
	for _, w := range t.allocations {
		differ(w, "preempting", n.preempting[w.ask.Key], w.preempting)
		differ(w, "overdue", n.overdue[w.ask.Key], w.overdue)
		differ(w, "the node that it waits for", n.nominated[w.ask.Key], w.nominated)
	}
	for _, w := range t.allocations {
		differ(w, "the node that it has reserved", n.reserved[w.ask.Key], w.reserved)
	}
	for key := range n.reserved {
		if t.allocation(key) == nil {
			lines = append(lines, fmt.Sprintf("%s is gone, and was noted to have reserved a node", key))
		}
	}
	for key := range n.nominated {
		if t.allocation(key) == nil {
			lines = append(lines, fmt.Sprintf("%s is gone, and was noted to wait", key))
		}
	}
	for key := range n.preempting {
		if t.allocation(key) == nil {
			delete(n.preempting, key)
			delete(n.overdue, key)
		}
	}
	paused := map[string]bool{}
	for _, p := range t.cycles.coolDowns {
		paused[queuePair(p.A, p.B)] = true
	}
	if !maps.Equal(n.coolDowns, paused) || !slices.Equal(n.cycles, t.cycles.detected) {
		lines = append(lines,
			fmt.Sprintf("circles %v and pauses %v were noted, the twin counts %v and %v", n.cycles, n.coolDowns,
				t.cycles.detected, paused))
	}
	active := map[string]bool{}
	for _, r := range t.refusals {
		if r.active {
			active[refusalText(r.alike, r.ask.Key, r.node)] = true
		}
	}
	if !maps.Equal(active, n.refused) {
		lines = append(lines, fmt.Sprintf("refusals %v were noted, the twin has %v", n.refused, active))
	}
	slices.Sort(lines)
	return lines
}
