package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// recordWriter makes records from effects (OBS-25 to OBS-29).
type recordWriter struct {
	partition string
	now       time.Time // the time of effects without a time of their own: they are delivered at once
	records   []events.Record
}

func (w *recordWriter) add(r events.Record) {
	r.Partition = w.partition
	if r.At.IsZero() {
		r.At = w.now
	}
	r.Message = events.Message(r.Message)
	w.records = append(w.records, r)
}

func (w *recordWriter) write(e scheduler.Effect) {
	switch e := e.(type) {
	case scheduler.NodeAccepted:
		w.add(events.Record{Type: events.Node, Object: string(e.Node), Change: events.Add,
			Message: "Node added to the scheduler"})
	case scheduler.NodeRejected:
		w.add(events.Record{Type: events.Node, Object: string(e.Node), Message: "Node rejected: " + e.Reason})
	case scheduler.ApplicationAccepted:
		w.add(events.Record{Type: events.Application, Object: string(e.App), Change: events.Add, Detail: events.AppNew})
	case scheduler.ApplicationRejected:
		w.add(events.Record{Type: events.Application, Object: string(e.App), Change: events.Set, Detail: events.AppRejected,
			Message: e.Reason})
	case scheduler.ApplicationUpdated:
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Change: events.Set, Detail: stateDetails[e.State],
			Message: e.Reason.String(), At: e.At,
		})
	case scheduler.AskRejected:
		w.request(e.Key, e.App, events.Record{Message: e.Reason, Rejected: true})
	case scheduler.Allocated:
		key := cloneKey(e.Ask.Key)
		w.add(events.Record{
			Type: events.Application, Object: string(e.Ask.App), Reference: key, Change: events.Add, Detail: events.AppAllocated,
			Amounts: e.Ask.Amounts,
		})
		w.add(events.Record{
			Type: events.Node, Object: string(e.Node), Reference: key, Change: events.Add, Detail: events.NodeAllocated,
			Amounts: e.Ask.Amounts,
		})
	case scheduler.Released:
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Reference: cloneKey(e.Key), Change: events.Remove,
			Detail: detailOf(e.Type), Message: e.Message,
		})
	case scheduler.AskCancelled:
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Reference: cloneKey(e.Key), Change: events.Remove,
			Detail: events.RequestCancelled, Message: e.Reason,
		})
	case scheduler.AsksWait:
		for a, reason := range e.EachWithReason {
			w.request(a.Ask.Key, a.Ask.App, events.Record{Message: a.State.String() + ": " + reason})
		}
	case scheduler.AskTimedOut:
		detail := events.RequestTimedOut
		if e.Withdrawn {
			detail = events.RequestCancelled
		}
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Reference: cloneKey(e.Key), Change: events.Remove, Detail: detail,
			Message: e.Message,
		})
	case scheduler.Refused:
		w.about(e.Node, e.Key, e.App, "Refused "+e.Subject+": "+e.Reason)
	case scheduler.PartitionReset:
		if e.Reason != "" {
			w.add(events.Record{Type: events.Queue, Object: string(objects.RootPath),
				Message: "Everything was removed: " + e.Reason})
		}
	case scheduler.OperatorActed:
		w.operator(e)
	case scheduler.NodeChanged:
		w.node(e)
	case scheduler.QueueChanged:
		w.queue(e)
	case scheduler.Event:
		w.event(e)
	}
}

// event adds a record about what only the core knows.
func (w *recordWriter) event(e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventIgnored:
		w.about("", e.Subject.Key, e.Subject.App, e.Ignored.Title()+": "+e.Message)
	case scheduler.EventPreemptionCycle, scheduler.EventCoolDownEnded:
		w.preemptionCycle(e)
	case scheduler.EventReserved, scheduler.EventReservationEnded:
		w.reservation(e)
	case scheduler.EventReservationsMoved:
		w.add(events.Record{
			Type: events.Application, Object: string(e.Subject.App),
			Message: fmt.Sprintf("Reservations of its gang moved to better nodes: members %d", len(e.Moved)),
		})
	case scheduler.EventNodeRefused, scheduler.EventNodeRefusalEnded:
		w.refusal(e)
	default:
		w.request(e.Subject.Key, e.Subject.App, events.Record{Message: eventMessage(e), Amounts: e.Amounts})
	}
}

// operator adds a record about what an operator has switched (OPS-5).
func (w *recordWriter) operator(e scheduler.OperatorActed) {
	m := scheduler.Operate(e)
	w.add(events.Record{Type: objectTypes[m.Action.Info().On], Object: m.Object(), Message: e.String()})
}

var objectTypes = map[scheduler.ObjectKind]events.Type{
	scheduler.OnApplication: events.Application, scheduler.OnQueue: events.Queue, scheduler.OnNode: events.Node,
}

// request adds a record about an ask or an allocation.
func (w *recordWriter) request(key objects.AllocationKey, app objects.AppID, r events.Record) {
	r.Type, r.Object, r.Reference = events.Request, cloneKey(key), string(app)
	w.add(r)
}

// about adds a record about what a message to which the interface has no answer names: a node, an ask or an
// allocation, or an application; nothing if it names none of them (OBS-92).
func (w *recordWriter) about(node objects.NodeID, key objects.AllocationKey, app objects.AppID, message string) {
	switch {
	case node != "":
		w.add(events.Record{Type: events.Node, Object: string(node), Message: message})
	case key != "":
		w.request(key, app, events.Record{Message: message})
	case app != "":
		w.add(events.Record{Type: events.Application, Object: string(app), Message: message})
	}
}

func (w *recordWriter) node(e scheduler.NodeChanged) {
	r := events.Record{Type: events.Node, Object: string(e.Node), Change: events.Set}
	switch e.Change {
	case scheduler.NodeRemoved:
		r.Change, r.Detail, r.Message = events.Remove, events.NodeDecommissioned, "Node removed from the scheduler"
	case scheduler.NodeResized:
		r.Detail, r.Amounts = events.NodeCapacity, e.After
	case scheduler.NodeOvercommitted:
		r.Amounts = e.Excess
		r.Message = fmt.Sprintf("Node is overcommitted: its allocations exceed its capacity %v by %v", e.After, e.Excess)
	case scheduler.NodeNotOvercommitted:
		r.Message = fmt.Sprintf("Node is no longer overcommitted: its capacity is %v", e.After)
	default:
		r.Detail, r.Message = events.NodeSchedulable,
			fmt.Sprintf("schedulable: %t", e.Change == scheduler.NodeMadeSchedulable)
	}
	w.add(r)
}

func (w *recordWriter) queue(e scheduler.QueueChanged) {
	r := events.Record{Type: events.Queue, Object: string(e.Queue)}
	if e.Dynamic {
		r.Detail = events.QueueDynamic
	}
	switch e.Change {
	case objects.QueueCreated:
		r.Change = events.Add
	case objects.QueueRemoved:
		r.Change = events.Remove
	case objects.QueueDraining:
		r.Change, r.Message = events.Set, "Queue is draining: it is not in the configuration any more"
	case objects.QueueRestored:
		r.Change, r.Message = events.Set, "Queue is not draining any more: it is in the configuration again"
	}
	w.add(r)
}

// preemptionCycle adds a record about the first queue of a cycle; the reference is the queue next to it.
func (w *recordWriter) preemptionCycle(e scheduler.Event) {
	r := events.Record{Type: events.Queue, Object: string(e.Cycle[0]), Reference: string(e.Cycle[1%len(e.Cycle)])}
	switch {
	case e.Kind == scheduler.EventCoolDownEnded:
		r.Message = fmt.Sprintf("Preemption cool-down has ended, in force since %s", e.Since.UTC().Format(time.RFC3339))
	case e.Until.IsZero():
		r.Message = fmt.Sprintf("Preemption cycle: %s", e.Cycle)
	default:
		r.Message = fmt.Sprintf("Preemption cycle: %s; cool-down until %s", e.Cycle, e.Until.UTC().Format(time.RFC3339))
	}
	w.add(r)
}

// reservation adds a record about the node that an ask has reserved.
func (w *recordWriter) reservation(e scheduler.Event) {
	r := events.Record{
		Type: events.Node, Object: string(e.Node), Reference: cloneKey(e.Subject.Key), Change: events.Add,
		Detail: events.NodeReservation, Amounts: e.Amounts,
		Message: fmt.Sprintf("Node reserved for ask %s of application %s", e.Subject.Key, e.Subject.App),
	}
	if e.Kind == scheduler.EventReservationEnded {
		r.Change, r.Message = events.Remove,
			fmt.Sprintf("Reservation for ask %s of application %s ended: %s", e.Subject.Key, e.Subject.App, e.ReservationEnd)
	}
	w.add(r)
}

// refusal adds records about a node that has refused an ask, or asks of a kind: of the node and of the ask.
func (w *recordWriter) refusal(e scheduler.Event) {
	what := "ask " + string(e.Subject.Key) + " of application " + string(e.Subject.App)
	if e.OfShape {
		what = "asks with the requests and constraints of " + what
	}
	message := fmt.Sprintf("Node %s refused %s, and does not get it until %s: %s", e.Node, what,
		e.Until.UTC().Format(time.RFC3339), e.Message)
	switch {
	case e.Kind == scheduler.EventNodeRefusalEnded:
		message = fmt.Sprintf("Node %s, which refused %s, may get it again: %s", e.Node, what, e.Message)
	case e.OfShape:
		message = fmt.Sprintf("Node %s refused several %s, and gets none until %s: %s", e.Node, what,
			e.Until.UTC().Format(time.RFC3339), e.Message)
	}
	w.add(events.Record{Type: events.Node, Object: string(e.Node), Reference: cloneKey(e.Subject.Key), Message: message})
	if !e.OfShape {
		w.request(e.Subject.Key, e.Subject.App, events.Record{Message: message})
	}
}

// cloneKey copies a key, which may be a part of a larger text: the copy does not keep the whole message in memory.
func cloneKey(key objects.AllocationKey) string { return strings.Clone(string(key)) }

var stateDetails = map[lifecycle.State]events.Detail{
	lifecycle.New: events.AppNew, lifecycle.Accepted: events.AppAccepted, lifecycle.Running: events.AppRunning,
	lifecycle.Rejected: events.AppRejected, lifecycle.Completing: events.AppCompleting,
	lifecycle.Completed: events.AppCompleted,
	lifecycle.Failing:   events.AppFailing, lifecycle.Failed: events.AppFailed, lifecycle.Expired: events.AppExpired,
	lifecycle.Resuming: events.AppResuming,
}

// detailOf returns the detail of the end of an allocation. An allocation that is preempted or has timed out
// has its record now, before it has ended.
func detailOf(t scheduler.Termination) events.Detail {
	switch t {
	case scheduler.PreemptedByScheduler:
		return events.AllocationPreempted
	case scheduler.TimedOut:
		return events.AllocationTimedOut
	case scheduler.PlaceholderReplaced:
		return events.AllocationReplaced
	}
	return events.AllocationCancelled
}

// eventMessage returns the message of an event about an ask or an allocation (S3-47, PRE-112, ASK-67).
func eventMessage(e scheduler.Event) string {
	switch e.Kind {
	case scheduler.EventOrphaned:
		return fmt.Sprintf("Orphaned on node %s, whose resources it holds: %s", e.Node, e.Message)
	case scheduler.EventPreempted:
		if e.Preemptor == (scheduler.AllocationRef{}) {
			return fmt.Sprintf("Preempted on node %s: %s; grace period %s", e.Node, e.Message, e.Grace)
		}
		return fmt.Sprintf("Preempted by %s of application %s in queue %s on node %s, reason %s; grace period %s",
			e.Preemptor.Key, e.Preemptor.App, e.Preemptor.Queue, e.Node, e.Reason, e.Grace)
	case scheduler.EventPlaceholderTooSmall:
		return fmt.Sprintf("Placeholder on node %s is released because it is too small: %s", e.Node, e.Message)
	case scheduler.EventOverdue:
		return fmt.Sprintf("Preemption on node %s at %s is overdue: its termination was not confirmed in time", e.Node,
			e.Since.UTC().Format(time.RFC3339))
	case scheduler.EventNominated:
		text := fmt.Sprintf("Nominated for node %s, reason %s: waits for %d victim", e.Node, e.Reason, e.Victims)
		if e.Victims != 1 {
			text += "s"
		}
		return text
	}
	text := fmt.Sprintf("Nomination for node %s ended: %s", e.Node, e.NominationEnd)
	if e.Preemptor != (scheduler.AllocationRef{}) {
		text += fmt.Sprintf(", %s of application %s in queue %s", e.Preemptor.Key, e.Preemptor.App, e.Preemptor.Queue)
	}
	if e.Message != "" {
		text += ", " + e.Message
	}
	return text
}
