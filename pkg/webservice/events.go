package webservice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
)

// The event history over REST (OBS-24 to OBS-37).

func (s *service) routeEvents(mux *router) {
	if s.opt.History == nil {
		return
	}
	s.route(mux, "/ws/v1/events/batch", s.eventBatch)
	mux.HandleFunc("GET /ws/v1/events/stream", s.eventStream)
	mux.HandleFunc("OPTIONS /ws/v1/events/stream", s.options)
}

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
	body := eventsBody{InstanceUUID: s.opt.History.ID()}
	var b history.Batch
	enabled := true
	switch {
	case between.isSet():
		first := &start
		if !given {
			first = nil
		}
		b, body.NextID, enabled = s.opt.History.Select(first, limit, between.covers)
	case given:
		b, enabled = s.opt.History.From(start, limit)
	default:
		b, enabled = s.opt.History.Oldest(limit)
	}
	if !enabled {
		return nil, &failure{status: http.StatusInternalServerError, reason: history.ErrDisabled.Error()}
	}
	body.LowestID, body.HighestID = b.Lowest, b.Highest
	if b.Records == nil {
		return body, nil
	}
	return eventPieces(body, b.Records), nil
}

// eventPieces is the JSON of body with records.
func eventPieces(body eventsBody, records []events.Record) pieces {
	return func(yield func([]byte) bool) {
		e := newEncoder()
		body.EventRecords = []eventBody{{}}
		element := bytes.Clone(e.piece(eventBody{}))
		before, after, found := cutAroundList(bytes.Clone(e.piece(body)), "EventRecords", element)
		if !found {
			panic("webservice: events have no records")
		}
		if !yield(before) {
			return
		}
		for piece := range listOf(func(yield func(eventBody) bool) {
			for i := range records {
				if !yield(viewRecord(&records[i])) {
					return
				}
			}
		}) {
			if !yield(piece) {
				return
			}
		}
		yield(after)
	}
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
		return p, badRequest(fmt.Sprintf("since %q is not before until %q", r.URL.Query().Get("since"), r.URL.Query().Get("until")))
	}
	return p, nil
}

// timeParameter reads a time from the query: RFC 3339, or a duration before now. It is zero if the
// query does not have it.
func timeParameter(r *http.Request, name string, now time.Time) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, badRequest(fmt.Sprintf("%s %q: it is a time such as 2026-01-02T15:04:05Z, or a duration before now such as 5m", name, truncated(text)))
}

// uintParameter reads a number of at least least from the query; given is false if the query does not have it.
func uintParameter(r *http.Request, name string, least uint64) (n uint64, given bool, err error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return least, false, nil
	}
	n, err = strconv.ParseUint(text, 10, 64)
	if err != nil || n < least {
		return 0, true, badRequest(fmt.Sprintf("%s %q: it is a whole number, %d or more", name, text, least))
	}
	return n, true, nil
}

// eventWriteTimeout is how long the client of a stream may take to accept one write.
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
		s.fail(w, r, &failure{status: status, reason: err.Error()})
		return
	}
	defer stream.Close()
	if !s.sameOriginOnly {
		allowOrigins(w.Header())
	}
	w.Header().Set("Content-Type", jsonType)
	out := eventWriter{json.NewEncoder(w), http.NewResponseController(w)}
	if err = out.send(instanceBody{s.opt.History.ID()}); err == nil {
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

// eventWriter writes JSON to a client and flushes each line.
type eventWriter struct {
	*json.Encoder
	*http.ResponseController
}

func (l eventWriter) sendRecords(records []events.Record) error {
	for i := range records {
		if err := l.send(viewRecord(&records[i])); err != nil {
			return err
		}
	}
	return nil
}

func (l eventWriter) send(body any) error {
	if err := l.SetWriteDeadline(time.Now().Add(eventWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := l.Encode(body); err != nil {
		return err
	}
	return l.Flush()
}

// eventsBody has the keys of YuniKorn, which are names of Go fields.
type eventsBody struct {
	InstanceUUID        string
	LowestID, HighestID uint64
	EventRecords        []eventBody // null if the record with the ID start is not kept
	NextID              uint64      `json:",omitempty"` // ours, with since or until: the start of the next page
}

type instanceBody struct{ InstanceUUID string }

type eventBody struct {
	Type              events.Type   `json:"type,omitempty"`
	ObjectID          string        `json:"objectID,omitempty"`
	Message           string        `json:"message,omitempty"`
	TimestampNano     int64         `json:"timestampNano,omitempty"`
	EventChangeType   events.Change `json:"eventChangeType,omitempty"`
	EventChangeDetail events.Detail `json:"eventChangeDetail,omitempty"`
	ReferenceID       string        `json:"referenceID,omitempty"`
	Resource          eventResource `json:"resource"`
	Partition         string        `json:"partition,omitempty"` // ours: YuniKorn's records do not have it

	// Ours: the numbers in words.
	TypeName         string `json:"typeName,omitempty"`
	ChangeTypeName   string `json:"eventChangeTypeName,omitempty"`
	ChangeDetailName string `json:"eventChangeDetailName,omitempty"`
}

type eventResource struct {
	Resources map[string]eventQuantity `json:"resources,omitempty"`
}

type eventQuantity struct {
	Value int64 `json:"value,omitempty"`
}

func viewRecord(r *events.Record) eventBody {
	b := eventBody{
		Type: r.Type, ObjectID: r.Object, Message: r.Message, TimestampNano: r.At.UnixNano(), EventChangeType: r.Change,
		EventChangeDetail: r.Detail, ReferenceID: r.Reference, Partition: r.Partition,
		TypeName: r.Type.String(), ChangeTypeName: r.Change.String(), ChangeDetailName: r.Detail.String(),
	}
	for name, n := range r.Amounts.All() {
		if b.Resource.Resources == nil {
			b.Resource.Resources = map[string]eventQuantity{}
		}
		b.Resource.Resources[name] = eventQuantity{int64(n)}
	}
	return b
}
