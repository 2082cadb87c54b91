package webservice

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The event history over REST (OBS-24 to OBS-37).

// eventBatch answers with the records from an ID on, by default the oldest that is kept (OBS-32,
// OBS-33). YuniKorn begins with 0, and has no records once that is no longer kept.
func (s *service) eventBatch(r *http.Request) (any, error) {
	start, given, err := uintParameter(r, "start", 0)
	if err != nil {
		return nil, err
	}
	count, limited, err := uintParameter(r, "count", 1)
	if err != nil {
		return nil, err
	}
	between, err := s.period(r)
	if err != nil {
		return nil, err
	}
	if !limited {
		count = 0
	}
	limit := int(min(count, 1<<30))
	var b history.Batch
	next, enabled := uint64(0), true
	switch {
	case between.isSet():
		first := &start
		if !given {
			first = nil
		}
		b, next, enabled = s.opt.History.Select(first, limit, between.covers)
	case given:
		b, enabled = s.opt.History.From(start, limit)
	default:
		b, enabled = s.opt.History.Oldest(limit)
	}
	if !enabled {
		return nil, refusal(http.StatusInternalServerError, "%v", history.ErrDisabled)
	}
	body := dao.EventBatch{InstanceUUID: s.opt.History.ID(), LowestID: b.Lowest, HighestID: b.Highest, NextID: next}
	if b.Records != nil {
		body.EventRecords = dao.ListOf(b.Records.All(), dao.NewEvent)
	}
	return body, nil
}

// period is a time interval of records: since is inclusive, until is not.
type period struct{ since, until time.Time } // zero: no bound

func (p period) isSet() bool { return !p.since.IsZero() || !p.until.IsZero() }

func (p period) covers(r *events.Record) bool {
	return !r.At.Before(p.since) && (p.until.IsZero() || r.At.Before(p.until))
}

// period reads since and until from the query.
func (s *service) period(r *http.Request) (p period, err error) {
	now := s.opt.History.Now()
	if p.since, err = timeParameter(r, "since", now); err != nil {
		return p, err
	}
	if p.until, err = timeParameter(r, "until", now); err != nil {
		return p, err
	}
	if !p.since.IsZero() && !p.until.IsZero() && !p.since.Before(p.until) {
		return p, badRequest("since %q is not before until %q", r.URL.Query().Get("since"), r.URL.Query().Get("until"))
	}
	return p, nil
}

// timeParameter reads a time from the query: RFC 3339, or a duration before now. It is zero if the
// query does not have it; an empty text is an error, because all records would look like a period.
func timeParameter(r *http.Request, name string, now time.Time) (time.Time, error) {
	query := r.URL.Query()
	if !query.Has(name) {
		return time.Time{}, nil
	}
	text := query.Get(name)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{},
		badRequest("%s %q: it is a time such as 2026-01-02T15:04:05Z, or a duration before now such as 5m", name,
			truncated(text))
}

// uintParameter reads a number of at least least from the query; given is false if the query does not have it.
func uintParameter(r *http.Request, name string, least uint64) (n uint64, given bool, err error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return least, false, nil
	}
	n, err = strconv.ParseUint(text, 10, 64)
	if err != nil || n < least {
		return 0, true, badRequest("%s %q: it is a whole number, %d or more", name, text, least)
	}
	return n, true, nil
}

// eventWriteTimeout bounds the time in which the client of a stream accepts one write.
const eventWriteTimeout = 5 * time.Second

// eventStream sends records as they are added, a line each, until the client or the process ends,
// or the client is too slow (OBS-34, OBS-35).
func (s *service) eventStream(w http.ResponseWriter, r *http.Request) {
	past, _, err := uintParameter(r, "count", 0)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	since, err := timeParameter(r, "since", s.opt.History.Now())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	client := clientHost(r) // YuniKorn counts by the Host header (OBS-36)
	var stream *history.Stream
	if since.IsZero() {
		stream, err = s.opt.History.Follow(client, int(min(past, 1<<30)))
	} else {
		stream, err = s.opt.History.FollowSince(client, since)
	}
	if err != nil {
		status := http.StatusServiceUnavailable
		if errors.Is(err, history.ErrDisabled) {
			status = http.StatusInternalServerError
		}
		s.fail(w, r, refusal(status, "%v", err))
		return
	}
	defer stream.Close()
	w.Header().Set("Content-Type", jsonType)
	out := flushingWriter{w, http.NewResponseController(w)}
	if err = out.sendLine(map[string]string{"InstanceUUID": s.opt.History.ID()}); err == nil {
		err = out.sendRecords(stream.Past())
	}
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case records, more := <-stream.Records():
			if !more {
				return
			}
			err = out.sendRecords(records)
			stream.MarkRead(len(records))
		}
	}
	s.opt.Log.Debug("event stream ended", zap.String("client", r.RemoteAddr), zap.Error(err))
}

// flushingWriter sends what is written to a client at once.
type flushingWriter struct {
	http.ResponseWriter
	*http.ResponseController
}

// send sends a text. It fails if the client does not accept it in time.
func (l flushingWriter) send(text []byte) error {
	if err := l.SetWriteDeadline(time.Now().Add(eventWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := l.Write(text); err != nil {
		return err
	}
	return l.Flush()
}

// sendLine sends a line of JSON.
func (l flushingWriter) sendLine(body any) error {
	text, err := json.Marshal(body, answerOptions)
	if err != nil {
		return err
	}
	return l.send(append(text, '\n'))
}

func (l flushingWriter) sendRecords(records []events.Record) error {
	for i := range records {
		if err := l.sendLine(dao.NewEvent(&records[i])); err != nil {
			return err
		}
	}
	return nil
}
