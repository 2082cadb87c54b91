package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// writer turns effects into records.
type writer struct {
	partition string
	now       time.Time // effects that do not say when happened just before they were told
	records   []events.Record
}

func (w *writer) add(r events.Record) {
	if r.Partition = w.partition; r.At.IsZero() {
		r.At = w.now
	}
	r.Message = events.Message(r.Message)
	w.records = append(w.records, r)
}

func (w *writer) write(e scheduler.Effect) {
	switch e := e.(type) {
	case scheduler.NodeAccepted:
		w.add(events.Record{Type: events.Node, Object: string(e.Node), Change: events.Add, Message: "Node added to the scheduler"})
	case scheduler.NodeRejected:
		w.add(events.Record{Type: events.Node, Object: string(e.Node), Message: "Node refused: " + e.Reason})
	case scheduler.ApplicationAccepted:
		w.add(events.Record{Type: events.Application, Object: string(e.App), Change: events.Add, Detail: events.AppNew})
	case scheduler.ApplicationRejected:
		w.add(events.Record{Type: events.Application, Object: string(e.App), Change: events.Set, Detail: events.AppRejected, Message: e.Reason})
	case scheduler.ApplicationUpdated:
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Change: events.Set, Detail: stateDetails[e.State], Message: e.Why.String(), At: e.At,
		})
	case scheduler.AskRejected:
		w.request(e.Key, e.App, events.Record{Message: e.Reason, Refused: true})
	case scheduler.Allocated:
		key := own(e.Ask.Key)
		w.add(events.Record{
			Type: events.Application, Object: string(e.Ask.App), Reference: key, Change: events.Add, Detail: events.AppAllocated, Amounts: e.Ask.Amounts,
		})
		w.add(events.Record{
			Type: events.Node, Object: string(e.Node), Reference: key, Change: events.Add, Detail: events.NodeAllocated, Amounts: e.Ask.Amounts,
		})
	case scheduler.Released:
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Reference: own(e.Key), Change: events.Remove, Detail: detailOf(e.Type), Message: e.Message,
		})
	case scheduler.AskCancelled:
		w.add(events.Record{
			Type: events.Application, Object: string(e.App), Reference: own(e.Key), Change: events.Remove, Detail: events.RequestCancelled, Message: e.Why,
		})
	case scheduler.NodeChanged:
		w.node(e)
	case scheduler.QueueChanged:
		w.queue(e)
	case scheduler.Noted:
		if e.What == scheduler.NoteIgnored {
			return // counted, and nothing has happened
		}
		if e.What == scheduler.NoteChurn || e.What == scheduler.NotePauseEnded {
			w.churn(e)
			return
		}
		w.request(e.Who.Key, e.Who.App, events.Record{Message: wordsFor(e), Amounts: e.Amounts})
	}
}

// request is a record about an ask or an allocation.
func (w *writer) request(key objects.AllocationKey, app objects.AppID, r events.Record) {
	r.Type, r.Object, r.Reference = events.Request, own(key), string(app)
	w.add(r)
}

func (w *writer) node(e scheduler.NodeChanged) {
	r := events.Record{Type: events.Node, Object: string(e.Node), Change: events.Set}
	switch e.What {
	case scheduler.NodeRemoved:
		r.Change, r.Detail, r.Message = events.Remove, events.NodeDecommissioned, "Node removed from the scheduler"
	case scheduler.NodeResized:
		r.Detail, r.Amounts = events.NodeCapacity, e.Is
	default:
		r.Detail, r.Message = events.NodeSchedulable, fmt.Sprintf("schedulable: %t", e.What == scheduler.NodeUndrained)
	}
	w.add(r)
}

func (w *writer) queue(e scheduler.QueueChanged) {
	r := events.Record{Type: events.Queue, Object: string(e.Queue)}
	if e.Dynamic {
		r.Detail = events.QueueDynamic
	}
	switch e.What {
	case objects.QueueCreated:
		r.Change = events.Add
	case objects.QueueRemoved:
		r.Change = events.Remove
	case objects.QueueDraining:
		r.Change, r.Message = events.Set, "Queue is draining: the configuration does not have it any more"
	case objects.QueueRestored:
		r.Change, r.Message = events.Set, "Queue is not draining any more: the configuration has it again"
	}
	w.add(r)
}

// churn is a record about the first leaf of a circle, and the one that it is beside.
func (w *writer) churn(e scheduler.Noted) {
	r := events.Record{Type: events.Queue, Object: string(e.Cycle[0]), Reference: string(e.Cycle[1%len(e.Cycle)])}
	switch {
	case e.What == scheduler.NotePauseEnded:
		r.Message = fmt.Sprintf("May preempt each other again, paused since %s", e.Since.UTC().Format(time.RFC3339))
	case e.Until.IsZero():
		r.Message = fmt.Sprintf("Preemption goes round: %s", e.Cycle)
	default:
		r.Message = fmt.Sprintf("Preemption goes round: %s; paused until %s", e.Cycle, e.Until.UTC().Format(time.RFC3339))
	}
	w.add(r)
}

// own is a key that keeps no larger text in memory: those of asks are parts of messages.
func own(key objects.AllocationKey) string { return strings.Clone(string(key)) }

var stateDetails = map[objects.State]events.Detail{
	objects.New: events.AppNew, objects.Accepted: events.AppAccepted, objects.Running: events.AppRunning,
	objects.Rejected: events.AppRejected, objects.Completing: events.AppCompleting, objects.Completed: events.AppCompleted,
	objects.Failing: events.AppFailing, objects.Failed: events.AppFailed, objects.Expired: events.AppExpired,
	objects.Resuming: events.AppResuming,
}

// detailOf says how an allocation ends. One that is preempted or has timed out is told to
// leave then, and is not gone yet.
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

// wordsFor says what was noted. That of a preemption has its words from priority.md S3-47.
func wordsFor(e scheduler.Noted) string {
	switch e.What {
	case scheduler.NotePreempted:
		if e.By == (scheduler.Party{}) {
			return fmt.Sprintf("Preempted on node %s: %s; it has %s to end", e.Node, e.Why, e.Grace)
		}
		return fmt.Sprintf("Preempted by %s of application %s in queue %s on node %s, by right of %s; it has %s to end", e.By.Key, e.By.App, e.By.Queue, e.Node, e.Right, e.Grace)
	case scheduler.NoteOverdue:
		return fmt.Sprintf("Was told to leave node %s at %s and has not left: nobody counts on it any more", e.Node, e.Since.UTC().Format(time.RFC3339))
	case scheduler.NoteNominated:
		return fmt.Sprintf("Waits for node %s, by right of %s: %d allocations were told to leave", e.Node, e.Right, e.Victims)
	}
	words := fmt.Sprintf("Does not wait for node %s any more: %s", e.Node, e.End)
	if e.By != (scheduler.Party{}) {
		words += fmt.Sprintf(", %s of application %s in queue %s", e.By.Key, e.By.App, e.By.Queue)
	}
	if e.Why != "" {
		words += ", " + e.Why
	}
	return words
}
