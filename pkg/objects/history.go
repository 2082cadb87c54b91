package objects

import (
	"container/list"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// EndedApplication is what is left of an application that has completed or was rejected: about 500
// bytes, however much it ran. It never changes.
type EndedApplication struct {
	ID        AppID
	User      security.User
	Queue     QueuePath // the leaf it was in; of a rejected one, what the RM named
	State     State     // Completed or Rejected
	number    uint32    // among all of its kind that ever ended; it goes round
	Message   string    // why it was rejected; else empty
	Submitted time.Time
	Finished  time.Time         // when it entered State
	Peak      resources.Amounts // as of Application
	log       stateLog
}

// StateLog is every state it has entered after New, oldest first; of a very long log the
// middle is left out. Read-only.
func (e *EndedApplication) StateLog() []StateChange { return e.log }

// maxMessageBytes bounds the reason of a rejection that is remembered, in bytes.
const maxMessageBytes = 1024

func (p *Partition) endedRecord(a *Application, now time.Time) *EndedApplication {
	return &EndedApplication{
		Peak: p.Peak(a),
		ID:   a.id, User: a.user, Queue: a.queue.path, State: a.state, Submitted: a.Submitted(), Finished: now,
		log: append(stateLog(nil), a.log...),
	}
}

// history is the applications of one kind that have ended, oldest first.
type history struct {
	retention  time.Duration
	maxEntries int
	unique     bool // of one ID only the newest is kept
	list       list.List
	newest     map[AppID]*list.Element
	view       persistent.Builder[EndedApplication] // the list
	count      uint32                               // of all that ever ended; it goes round
}

func newHistory(keep time.Duration, most int, unique bool) history {
	h := history{retention: keep, maxEntries: most, unique: unique, newest: map[AppID]*list.Element{}}
	h.view.Compare = func(a, b *EndedApplication) int { return int(int32(a.number - b.number)) } // there are never so many that this is ambiguous
	return h
}

// Completed are the applications that have completed and are still remembered, oldest
// first. An ID may be there more than once.
func (p *Partition) Completed() persistent.List[EndedApplication] { return p.completed.view.List() }

// Rejected are the applications that were rejected and are still remembered, oldest first.
// Of an ID that was rejected more than once only the newest is there.
func (p *Partition) Rejected() persistent.List[EndedApplication] { return p.rejected.view.List() }

// last is the newest of an ID; nil: there is none.
func (h *history) last(id AppID) *EndedApplication {
	if e, ok := h.newest[id]; ok {
		return e.Value.(*EndedApplication)
	}
	return nil
}

func (h *history) add(e *EndedApplication) {
	if was, ok := h.newest[e.ID]; ok && h.unique {
		h.view.Remove(h.list.Remove(was).(*EndedApplication))
	}
	h.newest[e.ID] = h.list.PushBack(e)
	h.count++
	e.number = h.count
	h.view.Put(e)
}

// dropOldest forgets the oldest. Requires: there is one.
func (h *history) dropOldest() *EndedApplication {
	first := h.list.Front()
	e := h.list.Remove(first).(*EndedApplication)
	if h.newest[e.ID] == first {
		delete(h.newest, e.ID)
	}
	h.view.Remove(e)
	return e
}

// nextExpiry is when the oldest is to be forgotten.
func (h *history) nextExpiry() (time.Time, bool) {
	if h.list.Len() == 0 {
		return time.Time{}, false
	}
	return h.list.Front().Value.(*EndedApplication).Finished.Add(h.retention), true
}

// addToHistory keeps e for its time, or until there are too many.
func (p *Partition) addToHistory(h *history, e *EndedApplication, now time.Time) {
	h.add(e)
	for h.list.Len() > h.maxEntries {
		p.expireRecord(h.dropOldest(), ReasonHistoryFull, now)
	}
}

// expireDue forgets what ended long enough ago.
func (p *Partition) expireDue(h *history, now time.Time) {
	for at, ok := h.nextExpiry(); ok && !now.Before(at); at, ok = h.nextExpiry() {
		p.expireRecord(h.dropOldest(), ReasonRetentionOver, now)
	}
}

// expireRecord says that e is forgotten. The RM is not told of a rejected application, which it
// was never told the state of, nor of one whose ID is in use again: it would take that for
// the new one.
func (p *Partition) expireRecord(e *EndedApplication, reason StateReason, now time.Time) {
	to, ok := e.State.After(ExpireApplication)
	if !ok {
		panic("objects: application " + string(e.ID) + " is remembered, and " + e.State.String())
	}
	if _, used := p.apps[e.ID]; e.State != Rejected && !used {
		p.stateChanges = append(p.stateChanges, ApplicationStateChange{e.ID, e.Queue, StateChange{State: to, Reason: reason, at: now.UnixNano()}})
	}
}

// Reject remembers that an application was not let in, and why.
func (p *Partition) Reject(id AppID, user security.User, queue QueuePath, reason string, now time.Time) {
	to, _ := New.After(RejectApplication)
	p.addToHistory(&p.rejected, &EndedApplication{
		ID: id, User: user, Queue: queue, State: to, Message: truncate(reason), Submitted: now, Finished: now,
		log: stateLog{{State: to, Reason: ReasonRejected, at: now.UnixNano()}},
	}, now)
}

// truncate bounds a message, and copies it: it may be part of something larger.
func truncate(s string) string {
	if len(s) <= maxMessageBytes {
		return s
	}
	const ellipsis = "..."
	return strings.ToValidUTF8(s[:maxMessageBytes-len(ellipsis)], "") + ellipsis
}
