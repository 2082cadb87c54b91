package objects

import (
	"container/list"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Ended is what is left of an application that has completed or was rejected: about 500
// bytes, however much it ran. It never changes.
type Ended struct {
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
func (e *Ended) StateLog() []StateChange { return e.log }

// longestMessage bounds the reason of a rejection that is remembered, in bytes.
const longestMessage = 1024

func (p *Partition) ending(a *Application, now time.Time) *Ended {
	return &Ended{
		Peak: p.Peak(a),
		ID:   a.id, User: a.user, Queue: a.queue.path, State: a.state, Submitted: a.Submitted(), Finished: now,
		log: append(stateLog(nil), a.log...),
	}
}

// history is the applications of one kind that have ended, oldest first.
type history struct {
	keep   time.Duration
	most   int
	unique bool // of one ID only the newest is kept
	list   list.List
	newest map[AppID]*list.Element
	view   persistent.Builder[Ended] // the list
	count  uint32                    // of all that ever ended; it goes round
}

func newHistory(keep time.Duration, most int, unique bool) history {
	h := history{keep: keep, most: most, unique: unique, newest: map[AppID]*list.Element{}}
	h.view.Compare = func(a, b *Ended) int { return int(int32(a.number - b.number)) } // there are never so many that this is ambiguous
	return h
}

// Completed are the applications that have completed and are still remembered, oldest
// first. An ID may be there more than once.
func (p *Partition) Completed() persistent.List[Ended] { return p.completed.view.List() }

// Rejected are the applications that were rejected and are still remembered, oldest first.
// Of an ID that was rejected more than once only the newest is there.
func (p *Partition) Rejected() persistent.List[Ended] { return p.rejected.view.List() }

// last is the newest of an ID; nil: there is none.
func (h *history) last(id AppID) *Ended {
	if e, ok := h.newest[id]; ok {
		return e.Value.(*Ended)
	}
	return nil
}

func (h *history) add(e *Ended) {
	if was, ok := h.newest[e.ID]; ok && h.unique {
		h.view.Remove(h.list.Remove(was).(*Ended))
	}
	h.newest[e.ID] = h.list.PushBack(e)
	h.count++
	e.number = h.count
	h.view.Put(e)
}

// dropOldest forgets the oldest. Requires: there is one.
func (h *history) dropOldest() *Ended {
	first := h.list.Front()
	e := h.list.Remove(first).(*Ended)
	if h.newest[e.ID] == first {
		delete(h.newest, e.ID)
	}
	h.view.Remove(e)
	return e
}

// due is when the oldest is to be forgotten.
func (h *history) due() (time.Time, bool) {
	if h.list.Len() == 0 {
		return time.Time{}, false
	}
	return h.list.Front().Value.(*Ended).Finished.Add(h.keep), true
}

// remember keeps e for its time, or until there are too many.
func (p *Partition) remember(h *history, e *Ended, now time.Time) {
	h.add(e)
	for h.list.Len() > h.most {
		p.expire(h.dropOldest(), WasCrowdedOut, now)
	}
}

// expireDue forgets what ended long enough ago.
func (p *Partition) expireDue(h *history, now time.Time) {
	for at, ok := h.due(); ok && !now.Before(at); at, ok = h.due() {
		p.expire(h.dropOldest(), WasKeptLong, now)
	}
}

// expire says that e is forgotten. The RM is not told of a rejected application, which it
// was never told the state of, nor of one whose ID is in use again: it would take that for
// the new one.
func (p *Partition) expire(e *Ended, why Reason, now time.Time) {
	to, ok := e.State.After(ExpireApplication)
	if !ok {
		panic("objects: application " + string(e.ID) + " is remembered, and " + e.State.String())
	}
	if _, used := p.apps[e.ID]; e.State != Rejected && !used {
		p.entered = append(p.entered, Entered{e.ID, e.Queue, StateChange{State: to, Why: why, at: now.UnixNano()}})
	}
}

// Reject remembers that an application was not let in, and why.
func (p *Partition) Reject(id AppID, user security.User, queue QueuePath, why string, now time.Time) {
	to, _ := New.After(RejectApplication)
	p.remember(&p.rejected, &Ended{
		ID: id, User: user, Queue: queue, State: to, Message: clip(why), Submitted: now, Finished: now,
		log: stateLog{{State: to, Why: WasRefused, at: now.UnixNano()}},
	}, now)
}

// clip bounds a message, and copies it: it may be part of something larger.
func clip(s string) string {
	if len(s) <= longestMessage {
		return s
	}
	const ellipsis = "..."
	return strings.ToValidUTF8(s[:longestMessage-len(ellipsis)], "") + ellipsis
}
