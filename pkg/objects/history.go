package objects

import (
	"container/list"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// EndedApplication is the record of an application that was completed or rejected: about 500 bytes,
// whatever it has run. It is immutable.
type EndedApplication struct {
	ID        AppID
	User      security.User
	Queue     QueuePath // its leaf; of a rejected one, the queue that the RM named
	State     State     // Completed or Rejected
	number    uint32    // sequence number in its history; it wraps around
	Message   string    // reason of the rejection, otherwise empty
	Submitted time.Time
	Finished  time.Time         // when it entered State
	Peak      resources.Amounts // as of Partition.Peak
	log       stateLog
}

// StateLog is the states that it entered after New, oldest first. A long log lacks the middle.
// Read-only.
func (e *EndedApplication) StateLog() []StateChange { return e.log }

// maxMessageBytes is the maximum length of the reason of a rejection in the history.
const maxMessageBytes = 1024

func (p *Partition) endedRecord(a *Application, now time.Time) *EndedApplication {
	return &EndedApplication{
		Peak: p.Peak(a),
		ID:   a.id, User: a.User(), Queue: a.queue.path, State: a.state, Submitted: a.Submitted(), Finished: now,
		log: append(stateLog(nil), a.log...),
	}
}

// history is the completed or the rejected applications, oldest first.
type history struct {
	retention  time.Duration
	maxEntries int
	unique     bool // only the newest entry of an ID is kept
	list       list.List
	newest     map[AppID]*list.Element
	view       persistent.Builder[EndedApplication] // of list
	count      uint32                               // number of entries ever added; it wraps around
}

func newHistory(keep time.Duration, most int, unique bool) history {
	h := history{retention: keep, maxEntries: most, unique: unique, newest: map[AppID]*list.Element{}}
	h.view.Compare = func(a, b *EndedApplication) int { return int(int32(a.number - b.number)) } // unambiguous below 2^31 entries
	return h
}

// Completed are the completed applications in the history, oldest first (APP-38). An ID may occur
// more than once.
func (p *Partition) Completed() persistent.List[EndedApplication] {
	return p.life.completed.view.List()
}

// Rejected are the rejected applications in the history, oldest first (APP-39). Of an ID only the
// newest entry is there.
func (p *Partition) Rejected() persistent.List[EndedApplication] { return p.life.rejected.view.List() }

// last is the newest entry of an ID; nil: there is none.
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

// dropOldest removes the oldest entry. Requires: there is one.
func (h *history) dropOldest() *EndedApplication {
	first := h.list.Front()
	e := h.list.Remove(first).(*EndedApplication)
	if h.newest[e.ID] == first {
		delete(h.newest, e.ID)
	}
	h.view.Remove(e)
	return e
}

// nextExpiry is when the oldest entry expires. ok is false if there is none.
func (h *history) nextExpiry() (time.Time, bool) {
	if h.list.Len() == 0 {
		return time.Time{}, false
	}
	return h.list.Front().Value.(*EndedApplication).Finished.Add(h.retention), true
}

// addToHistory adds e, and expires the oldest entries above maxEntries (APP-40).
func (p *Partition) addToHistory(h *history, e *EndedApplication, now time.Time) {
	h.add(e)
	for h.list.Len() > h.maxEntries {
		p.expireRecord(h.dropOldest(), ReasonHistoryFull, now)
	}
}

// expireDue expires the entries whose retention time is over.
func (p *Partition) expireDue(h *history, now time.Time) {
	for at, ok := h.nextExpiry(); ok && !now.Before(at); at, ok = h.nextExpiry() {
		p.expireRecord(h.dropOldest(), ReasonRetentionOver, now)
	}
}

// expireRecord records the state change of an expired entry (APP-41). There is none for a rejected
// application, whose states the RM does not get, nor for an ID in use again, which the RM would
// take for the new application.
func (p *Partition) expireRecord(e *EndedApplication, reason StateReason, now time.Time) {
	to, ok := e.State.After(ExpireApplication)
	if !ok {
		panic("objects: application " + string(e.ID) + " is in the history in state " + e.State.String())
	}
	if _, used := p.apps[e.ID]; e.State != Rejected && !used {
		p.journal.applicationExpired(e, StateChange{State: to, Reason: reason, at: now.UnixNano()})
	}
}

// Reject records in the history that an application was rejected, and why.
func (p *Partition) Reject(id AppID, user security.User, queue QueuePath, reason string, now time.Time) {
	to, _ := New.After(RejectApplication)
	p.addToHistory(&p.life.rejected, &EndedApplication{
		ID: id, User: user, Queue: queue, State: to, Message: truncate(reason), Submitted: now, Finished: now,
		log: stateLog{{State: to, Reason: ReasonRejected, at: now.UnixNano()}},
	}, now)
}

// truncate bounds a message.
func truncate(s string) string {
	if len(s) <= maxMessageBytes {
		return s
	}
	const ellipsis = "..."
	return strings.ToValidUTF8(s[:maxMessageBytes-len(ellipsis)], "") + ellipsis
}
