package lifecycle

import (
	"container/list"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Ended is the record of an application that was completed or rejected: about 500 bytes, whatever it has run. It is
// immutable.
type Ended struct {
	ID        string
	User      security.User
	Queue     string // path of its leaf; of a rejected one, the queue that the RM named
	State     State  // Completed or Rejected
	number    uint32 // sequence number in its history; it wraps around
	rare      *rare  // see Message and Gang; nil: neither
	Submitted time.Time
	Finished  time.Time         // when it entered State
	Peak      resources.Amounts // the most it used at once, per resource
	Log       Log               // a long log lacks the middle; read-only
	Usage     *Usage            // of its ended allocations; nil: none ran for a second
}

// rare holds fields that few records have.
type rare struct {
	message string
	gang    []gangs.TaskGroup
}

// Message returns the reason of a rejection, otherwise empty.
func (e *Ended) Message() string {
	if e.rare == nil {
		return ""
	}
	return e.rare.message
}

// Gang returns the counts of its task groups at its end; none: it never had a placeholder, or that is not known.
func (e *Ended) Gang() []gangs.TaskGroup {
	if e.rare == nil {
		return nil
	}
	return e.rare.gang
}

// WithMessage sets the reason of a rejection, which is not empty, and returns e, which is new.
func (e *Ended) WithMessage(reason string) *Ended {
	e.rare = &rare{message: reason}
	return e
}

// SetGang sets the counts of the task groups of e, which is new.
func (e *Ended) SetGang(groups []gangs.TaskGroup) { e.rare = &rare{gang: slices.Clone(groups)} }

// Number returns the number of e in its history, in the order of the ends. It wraps around: of two, the later one has
// the larger number by the sign of their difference.
func (e *Ended) Number() uint32 { return e.number }

// maxMessageBytes is the maximum length of the reason of a rejection in the history.
const maxMessageBytes = 1024

// NewRejection returns the record of an application that was rejected for a reason, which is truncated to
// maxMessageBytes.
func NewRejection(id string, user security.User, queue, reason string, now time.Time) *Ended {
	to, _ := New.After(RejectApplication)
	e := &Ended{
		ID: id, User: user, Queue: queue, State: to, Submitted: now, Finished: now,
		Log: Log{NewChange(to, ReasonRejected, now)},
	}
	return e.WithMessage(truncate(reason))
}

// truncate bounds a message.
func truncate(s string) string {
	if len(s) <= maxMessageBytes {
		return s
	}
	const ellipsis = "..."
	return strings.ToValidUTF8(s[:maxMessageBytes-len(ellipsis)], "") + ellipsis
}

// History holds the completed or the rejected applications of a partition, oldest first. Records leave it when their
// retention time is over or when there are too many (APP-38 to APP-40).
type History struct {
	retention  time.Duration
	maxEntries int
	unique     bool // only the newest entry of an ID is kept
	list       list.List
	newest     map[string]*list.Element
	view       persistent.Builder[Ended] // of list
	count      uint32                    // number of entries ever added; it wraps around
}

// NewHistory returns an empty history that keeps at most maxEntries records, each for the retention time. unique: only
// the newest record of an ID is kept.
func NewHistory(retention time.Duration, maxEntries int, unique bool) History {
	h := History{retention: retention, maxEntries: maxEntries, unique: unique, newest: map[string]*list.Element{}}
	h.view.Compare = func(a, b *Ended) int { return int(int32(a.number - b.number)) } // unambiguous below 2^31 entries
	return h
}

// List returns the records, oldest first. It does not change when the history does.
func (h *History) List() persistent.List[Ended] { return h.view.List() }

// Last returns the newest record of an ID; nil: there is none.
func (h *History) Last(id string) *Ended {
	if e, ok := h.newest[id]; ok {
		return e.Value.(*Ended)
	}
	return nil
}

// Add adds a record, and returns the oldest ones that are removed because there are too many.
func (h *History) Add(e *Ended) (removed []*Ended) {
	if was, ok := h.newest[e.ID]; ok && h.unique {
		h.view.Remove(h.list.Remove(was).(*Ended))
	}
	h.newest[e.ID] = h.list.PushBack(e)
	h.count++
	e.number = h.count
	h.view.Put(e)
	for h.list.Len() > h.maxEntries {
		removed = append(removed, h.removeOldest())
	}
	return removed
}

// Expire removes the records whose retention time is over, and returns them.
func (h *History) Expire(now time.Time) (removed []*Ended) {
	for at, ok := h.NextExpiry(); ok && !now.Before(at); at, ok = h.NextExpiry() {
		removed = append(removed, h.removeOldest())
	}
	return removed
}

// NextExpiry returns the end of the retention time of the oldest record. ok is false if there is none.
func (h *History) NextExpiry() (at time.Time, ok bool) {
	if h.list.Len() == 0 {
		return time.Time{}, false
	}
	return h.list.Front().Value.(*Ended).Finished.Add(h.retention), true
}

// removeOldest removes the oldest entry. Requires: there is one.
func (h *History) removeOldest() *Ended {
	first := h.list.Front()
	e := h.list.Remove(first).(*Ended)
	if h.newest[e.ID] == first {
		delete(h.newest, e.ID)
	}
	h.view.Remove(e)
	return e
}

// Check returns the first contradiction within the history; nil: there is none.
func (h *History) Check() error {
	seen := map[string]*list.Element{}
	for e := h.list.Front(); e != nil; e = e.Next() {
		x := e.Value.(*Ended)
		if _, twice := seen[x.ID]; twice && h.unique {
			return fmt.Errorf("application %s is in the history twice", x.ID)
		}
		seen[x.ID] = e
		if before := e.Prev(); before != nil && before.Value.(*Ended).Finished.After(x.Finished) {
			return fmt.Errorf("application %s is out of order in the history", x.ID)
		}
	}
	if h.list.Len() > h.maxEntries || len(seen) != len(h.newest) {
		return fmt.Errorf("the history has %d applications, %d by ID, at most %d", h.list.Len(), len(h.newest), h.maxEntries)
	}
	for id, e := range seen {
		if h.newest[id] != e {
			return fmt.Errorf("the history finds an older entry of application %s", id)
		}
	}
	return nil
}
