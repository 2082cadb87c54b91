package history

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/events"
)

// Errors of Follow.
var (
	ErrDisabled = errors.New("event tracking is disabled")
	ErrTooMany  = errors.New("too many event streams")
	ErrClosed   = errors.New("the scheduler is stopping")
)

// maxLag bounds the records that a reader may be behind (OBS-35). YuniKorn allows 1,000; here one delivery of
// effects may be some thousands.
const maxLag = 10_000

// Stream delivers new records to one reader.
type Stream struct {
	h       *History
	host    string
	opened  time.Time
	past    []events.Record
	records chan []events.Record // closed when the stream has ended
	lag     int                  // records that were sent and not marked as read; guarded by h.mu
}

// Follow opens a stream for a client address, which begins with up to past earlier records.
func (h *History) Follow(host string, past int) (*Stream, error) {
	return h.follow(host, past, time.Time{})
}

// FollowSince opens a stream for a client address, which begins with the records since a time.
func (h *History) FollowSince(host string, since time.Time) (*Stream, error) {
	return h.follow(host, math.MaxInt, since)
}

// follow opens a stream that begins with up to past earlier records, none of them from before since (OBS-34, OBS-36).
func (h *History) follow(host string, past int, since time.Time) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := 0
	for s := range h.streams {
		if s.host == host {
			own++
		}
	}
	switch {
	case h.closed:
		return nil, ErrClosed
	case h.settings.Disabled:
		return nil, ErrDisabled
	case len(h.streams) >= h.settings.MaxStreams || own >= h.settings.MaxStreamsPerHost:
		return nil, ErrTooMany
	}
	s := &Stream{h: h, host: host, opened: h.now(), records: make(chan []events.Record, maxLag)}
	past = min(past, h.ring.Len())
	if past > 0 {
		for r := range h.ring.From(h.ring.Next()-uint64(past), past).All() {
			if !r.At.Before(since) {
				s.past = append(s.past, *r)
			}
		}
	}
	h.streams[s] = true
	return s, nil
}

// OpenStream is an open stream.
type OpenStream struct {
	Host   string    // the address of its client
	Opened time.Time // when it began
}

// Streams returns the open streams, the oldest first.
func (h *History) Streams() []OpenStream {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]OpenStream, 0, len(h.streams))
	for s := range h.streams {
		all = append(all, OpenStream{s.host, s.opened})
	}
	slices.SortFunc(all, func(a, b OpenStream) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Host, b.Host))
	})
	return all
}

// Past returns the earlier records with which the stream begins.
func (s *Stream) Past() []events.Record { return s.past }

// Records delivers new records in order. The channel is closed when the reader has fallen too far behind,
// history is switched off or the process stops. The reader reports what it has taken with MarkRead.
func (s *Stream) Records() <-chan []events.Record { return s.records }

// MarkRead reports that n records were taken from Records.
func (s *Stream) MarkRead(n int) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.lag -= n
}

// Close ends the stream.
func (s *Stream) Close() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.end(s)
}

// add sends records; false: the reader is too far behind. The records must not be changed afterwards.
// Requires: h.mu is held.
func (s *Stream) add(records []events.Record) bool {
	if s.lag >= maxLag {
		return false
	}
	s.lag += len(records)
	s.records <- records // does not block: each element has at least one record, and there are fewer than maxLag
	return true
}

// end ends a stream; one that has ended stays so. Requires: h.mu is held.
func (h *History) end(s *Stream) {
	if h.streams[s] {
		delete(h.streams, s)
		close(s.records)
	}
}

func (h *History) endStreams() {
	for s := range h.streams {
		h.end(s)
	}
}
