// Package history keeps the event history: a ring of the last records, and streams of new ones.
//
// It makes records from the effects of the partitions, which are delivered asynchronously from
// scheduling, and reads no state: what is in no effect is not in the history (OBS-29).
//
// The rule that must hold: the delivery of effects never waits for a reader. A reader that falls too
// far behind is dropped (OBS-35).
package history

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Settings are the settings of the history in the extra configuration (CFG-101).
type Settings struct {
	Disabled          bool // nothing is recorded from now on; earlier records stay
	Capacity          int  // bound of the records that are kept
	BatchSize         int  // bound of the records of one answer
	MaxStreams        int  // bound of the open streams
	MaxStreamsPerHost int  // bound of the open streams of one client address
}

// DefaultSettings returns the defaults, which are those of YuniKorn.
func DefaultSettings() Settings {
	return Settings{Capacity: 100_000, BatchSize: 10_000, MaxStreams: 100, MaxStreamsPerHost: 15}
}

// InvalidSetting is a value of an extra configuration that is not used.
type InvalidSetting struct{ Key, Value, Used string }

// ParseSettings reads the settings from an extra configuration. A missing or invalid value has its
// default; zero is valid for the numbers of streams only.
func ParseSettings(extra map[string]string) Settings {
	s, _ := ReadSettings(extra)
	return s
}

// ReadSettings does what ParseSettings does, and returns the invalid values too (CFG-130). An empty value counts as
// missing.
func ReadSettings(extra map[string]string) (s Settings, invalid []InvalidSetting) {
	s = DefaultSettings()
	read := func(key string, used any, parse func(text string) (ok bool)) {
		if text := strings.TrimSpace(extra[key]); text != "" && !parse(text) {
			invalid = append(invalid, InvalidSetting{key, extra[key], fmt.Sprint(used)})
		}
	}
	read("event.trackingEnabled", !s.Disabled, func(text string) bool {
		on, err := strconv.ParseBool(text)
		s.Disabled = err == nil && !on
		return err == nil
	})
	number := func(to *int, key string, least int) {
		read(key, *to, func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || int(n) < least {
				return false
			}
			*to = int(n)
			return true
		})
	}
	number(&s.Capacity, "event.ringBufferCapacity", 1)
	number(&s.BatchSize, "event.RESTResponseSize", 1)
	number(&s.MaxStreams, "event.maxStreams", 0)
	number(&s.MaxStreamsPerHost, "event.maxStreamsPerHost", 0)
	return s, invalid
}

// History is the event history of all partitions. It is safe for concurrent use.
type History struct {
	now      func() time.Time
	id       string
	disabled atomic.Bool // settings.Disabled, read without the lock

	mu       sync.Mutex // guards the following fields
	settings Settings
	ring     *events.Ring
	streams  map[*Stream]bool
	dropped  uint64       // number of streams whose readers were too far behind
	writer   recordWriter // reused by OnEffects
	closed   bool
}

// New returns an empty history. now is the clock; nil: time.Now.
func New(now func() time.Time) *History {
	if now == nil {
		now = time.Now
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := DefaultSettings()
	return &History{
		now: now, id: fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]),
		settings: s, ring: events.NewRing(s.Capacity), streams: map[*Stream]bool{},
	}
}

// ID returns the InstanceUUID: the IDs of records are unique within it, and a new process has another one.
func (h *History) ID() string { return h.id }

// Now returns the present time of the clock of the partitions.
func (h *History) Now() time.Time { return h.now() }

// Configure applies settings. When history is switched off, streams end (OBS-37).
func (h *History) Configure(s Settings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings = s
	h.disabled.Store(s.Disabled)
	h.ring.Resize(s.Capacity)
	if s.Disabled {
		h.endStreams()
	}
}

// OnEffects records effects of a partition, in order.
func (h *History) OnEffects(partition string, effects []scheduler.Effect) {
	if h.disabled.Load() {
		return
	}
	now := h.now().Round(0)
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &h.writer
	w.partition, w.now, w.records = partition, now, w.records[:0]
	for _, e := range effects {
		w.write(e)
	}
	for i := range w.records {
		h.ring.Add(w.records[i])
	}
	if len(h.streams) == 0 || len(w.records) == 0 {
		return
	}
	added := slices.Clone(w.records)
	for s := range h.streams {
		if !s.add(added) {
			h.dropped++
			h.end(s)
		}
	}
}

// Counts are the numbers for metrics.
type Counts struct {
	Added      uint64 // records since the start
	Remembered int    // records that are kept
	Streams    int    // open streams
	Dropped    uint64 // streams that ended because their readers were too far behind
}

// Counts returns the current numbers.
func (h *History) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Counts{h.ring.Next(), h.ring.Len(), len(h.streams), h.dropped}
}

// Batch is a part of the history.
type Batch struct {
	Lowest, Highest uint64         // the IDs of the oldest and the newest record that are kept; both 0 if there are none
	Records         events.Records // nil: the first requested record is not kept
}

// From returns up to count records from an ID on; count 0: up to BatchSize. ok is false if history is
// switched off.
func (h *History) From(id uint64, count int) (b Batch, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from(id, count)
}

// Oldest calls From with the ID of the oldest record that is kept.
func (h *History) Oldest(count int) (b Batch, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from(h.ring.Lowest(), count)
}

func (h *History) from(id uint64, count int) (b Batch, ok bool) {
	if h.settings.Disabled {
		return b, false
	}
	if count == 0 || count > h.settings.BatchSize {
		count = h.settings.BatchSize
	}
	if h.ring.Len() > 0 {
		b.Lowest, b.Highest = h.ring.Lowest(), h.ring.Next()-1
	}
	b.Records = h.ring.From(id, count)
	return b, true
}

// pageRecords is the number of records that are read at a time under the lock: OnEffects may run between two pages.
const pageRecords = 4096

// Select returns up to count records that match, from *id on; nil: from the oldest that is kept; count
// 0: up to BatchSize. next is the ID after the last record that was read: the first ID of the next call if
// there may be more. Records is nil if the record *id is not kept, and not nil otherwise. ok is false if
// history is switched off.
func (h *History) Select(id *uint64, count int, match func(*events.Record) bool) (b Batch, next uint64, ok bool) {
	h.mu.Lock()
	b, ok = h.from(0, 1)
	limit := h.settings.BatchSize
	next = h.ring.Lowest()
	if id != nil {
		if *id < next || *id >= h.ring.Next() {
			h.mu.Unlock()
			b.Records = nil
			return b, *id, ok
		}
		next = *id
	}
	h.mu.Unlock()
	if count == 0 || count > limit {
		count = limit
	}
	var found []events.Record
	for ok && next <= b.Highest && len(found) < count {
		page := h.page(&next)
		if page == nil {
			break
		}
		for r := range page.All() {
			if next > b.Highest || len(found) == count {
				break // it was added after the call began
			}
			next++
			if match(r) {
				found = append(found, *r)
			}
		}
	}
	b.Records = events.Records{found}
	return b, next, ok
}

// page returns some records from an ID on, or from the oldest if that record is not kept any more.
func (h *History) page(id *uint64) events.Records {
	h.mu.Lock()
	defer h.mu.Unlock()
	*id = max(*id, h.ring.Lowest())
	return h.ring.From(*id, pageRecords)
}

// Close ends all streams; later ones are refused with ErrClosed.
func (h *History) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.endStreams()
}
