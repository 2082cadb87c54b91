package history

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/events"
)

// Reasons there is no stream.
var (
	ErrDisabled = errors.New("event tracking is disabled")
	ErrTooMany  = errors.New("too many event streams")
	ErrClosed   = errors.New("the scheduler is stopping")
)

// maxLag is how many records a reader may be behind when more come. Upstream lets 1,000;
// here what is told at once may be some thousands.
const maxLag = 10_000

// Stream is records as they come, for one reader.
type Stream struct {
	h       *History
	host    string
	past    []events.Record
	records chan []events.Record // closed when the stream has ended
	lag     int                  // records in news; guarded by the lock of h
}

// Follow opens a stream for a client, which begins with up to so many of the past.
func (h *History) Follow(host string, past int) (*Stream, error) {
	return h.follow(host, past, time.Time{})
}

// FollowSince opens a stream for a client, which begins with what has happened since a time.
func (h *History) FollowSince(host string, since time.Time) (*Stream, error) {
	return h.follow(host, math.MaxInt, since)
}

// follow begins with up to so many records of the past, none of them from before a time.
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
	s := &Stream{h: h, host: host, records: make(chan []events.Record, maxLag)}
	if past = min(past, h.ring.Len()); past > 0 {
		s.past = h.ring.From(h.ring.Next()-uint64(past), past)
		s.past = slices.DeleteFunc(s.past, func(r events.Record) bool { return r.At.Before(since) })
	}
	h.streams[s] = true
	return s, nil
}

// Past is what it begins with.
func (s *Stream) Past() []events.Record { return s.past }

// Records are the records that come, in order. It is closed when the reader has fallen behind,
// history is switched off or the process stops. Whoever takes some says so with Read.
func (s *Stream) Records() <-chan []events.Record { return s.records }

// MarkRead says that so many records have been taken out of News.
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

// add reports whether the reader is not too far behind. Nobody changes records. Requires: the lock of s.h is held.
func (s *Stream) add(records []events.Record) bool {
	if s.lag >= maxLag {
		return false
	}
	s.lag += len(records)
	s.records <- records // there is room: each that waits has at least one record
	return true
}

// end ends a stream, if it has not ended. Requires: h.mu is held.
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
