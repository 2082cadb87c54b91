// Package history keeps what the partitions have said, as lines that people and programs
// read: a ring of the last ones, and streams of those to come.
//
// It hears the effects where they are told, beside the loop, and reads no state: what an
// effect does not say is not in history. Meters hear the same effects elsewhere.
//
// The rule that must hold: whoever tells never waits for who reads. A reader that falls
// behind is let go.
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

// Settings are what the extra configuration says of history (behaviour.md 12).
type Settings struct {
	Disabled          bool // nothing is kept from now on; what was stays
	Capacity          int  // that are kept at most
	BatchSize         int  // that an answer has at most
	MaxStreams        int  // at the same time
	MaxStreamsPerHost int  // of them, for one client address
}

// DefaultSettings are those of upstream.
func DefaultSettings() Settings {
	return Settings{Capacity: 100_000, BatchSize: 10_000, MaxStreams: 100, MaxStreamsPerHost: 15}
}

// ParseSettings takes settings from an extra configuration. What is missing or makes no sense has its
// default; zero is a number for streams only.
func ParseSettings(extra map[string]string) Settings {
	s := DefaultSettings()
	if on, err := strconv.ParseBool(strings.TrimSpace(extra["event.trackingEnabled"])); err == nil {
		s.Disabled = !on
	}
	number := func(to *int, key string, least int) {
		if n, err := strconv.ParseInt(strings.TrimSpace(extra[key]), 10, 32); err == nil && int(n) >= least {
			*to = int(n)
		}
	}
	number(&s.Capacity, "event.ringBufferCapacity", 1)
	number(&s.BatchSize, "event.RESTResponseSize", 1)
	number(&s.MaxStreams, "event.maxStreams", 0)
	number(&s.MaxStreamsPerHost, "event.maxStreamsPerHost", 0)
	return s
}

// History is safe for concurrent use.
type History struct {
	now      func() time.Time
	id       string
	disabled atomic.Bool // for a look without the lock

	mu       sync.Mutex // guards the rest
	settings Settings
	ring     *events.Ring
	streams  map[*Stream]bool
	dropped  uint64       // streams, because their readers were too far behind
	writer   recordWriter // used again and again
	closed   bool
}

// New returns one that is empty. now is the clock; nil: time.Now.
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

// ID is that of this process: IDs of records are its own.
func (h *History) ID() string { return h.id }

// Now is the time by the clock of the partitions.
func (h *History) Now() time.Time { return h.now() }

// Configure puts settings in force. When history is switched off, streams end.
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

// OnEffects takes in what a partition has said, in order.
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

// Counts are numbers for meters.
type Counts struct {
	Added      uint64 // records, since the start
	Remembered int    // of these
	Streams    int    // that are open
	Dropped    uint64 // streams that ended because their readers were too far behind
}

// Counts says how much there is.
func (h *History) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Counts{h.ring.Next(), h.ring.Len(), len(h.streams), h.dropped}
}

// Batch is part of history.
type Batch struct {
	Lowest, Highest uint64          // the IDs of the oldest and the newest that are kept; both 0 when there are none
	Records         []events.Record // nil: the first that was asked for is not kept
}

// From returns up to so many records from an ID on; 0: as many as an answer may have. ok is
// false when history is switched off.
func (h *History) From(id uint64, count int) (b Batch, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from(id, count)
}

// Oldest is From the oldest that is kept.
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

// pageRecords is how many records are looked at before those who tell may go on.
const pageRecords = 4096

// Select returns up to so many records that match, from an ID on that is given, else from the
// oldest that is kept; 0: as many as an answer may have. next is the ID after the last record that
// was looked at: where to go on if there may be more. Of a first record that is not kept, Records
// is nil, else it is not nil. ok is false when history is switched off.
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
	b.Records = []events.Record{}
	for ok && next <= b.Highest && len(b.Records) < count {
		page := h.page(&next)
		if len(page) == 0 {
			break
		}
		for i := range page {
			if next > b.Highest || len(b.Records) == count {
				break // it came after the call began
			}
			next++
			if match(&page[i]) {
				b.Records = append(b.Records, page[i])
			}
		}
	}
	return b, next, ok
}

// page is some records from an ID on, or from the oldest if that is not kept any more.
func (h *History) page(id *uint64) []events.Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	*id = max(*id, h.ring.Lowest())
	return h.ring.From(*id, pageRecords)
}

// Close ends all streams. There are no new ones after it.
func (h *History) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.endStreams()
}
