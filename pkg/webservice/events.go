package webservice

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
)

// What has happened (behaviour.md 11.3 and 11.4).

func (s *service) routeEvents(mux *http.ServeMux) {
	if s.opt.History == nil {
		return
	}
	s.route(mux, "/ws/v1/events/batch", s.eventBatch)
	mux.HandleFunc("GET /ws/v1/events/stream", s.eventStream)
	mux.HandleFunc("OPTIONS /ws/v1/events/stream", s.options)
}

// eventBatch is records from an ID on. Without a start it begins with the oldest that is
// kept: upstream begins with 0, and says nothing once that is forgotten.
func (s *service) eventBatch(r *http.Request) (any, error) {
	start, given, err := wholeNumber(r, "start", 0)
	if err != nil {
		return nil, err
	}
	count, limited, err := wholeNumber(r, "count", 1)
	if err != nil {
		return nil, err
	}
	if !limited {
		count = 0
	}
	most := int(min(count, 1<<30))
	b, on := s.opt.History.From(start, most)
	if !given {
		b, on = s.opt.History.Oldest(most)
	}
	if !on {
		return nil, &failure{status: http.StatusInternalServerError, reason: history.ErrOff.Error()}
	}
	body := eventsBody{InstanceUUID: s.opt.History.ID(), LowestID: b.Lowest, HighestID: b.Highest}
	for i := range b.Records {
		body.EventRecords = append(body.EventRecords, viewRecord(&b.Records[i]))
	}
	return body, nil
}

// wholeNumber reads a number of the query; given is false when there is none.
func wholeNumber(r *http.Request, name string, least uint64) (n uint64, given bool, err error) {
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

// lineTime is how long a reader of a stream may take for what is sent at once.
const lineTime = 5 * time.Second

// eventStream sends records as they come, a line each, until the client or the process
// ends, or the client does not keep up.
func (s *service) eventStream(w http.ResponseWriter, r *http.Request) {
	past, _, err := wholeNumber(r, "count", 0)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr) // upstream goes by the name of the server
	if err != nil {
		host = r.RemoteAddr
	}
	stream, err := s.opt.History.Follow(host, int(min(past, 1<<30)))
	if err != nil {
		status := http.StatusServiceUnavailable
		if errors.Is(err, history.ErrOff) {
			status = http.StatusInternalServerError
		}
		s.fail(w, r, &failure{status: status, reason: err.Error()})
		return
	}
	defer stream.Close()
	if !s.private {
		allowOrigins(w.Header())
	}
	w.Header().Set("Content-Type", jsonType)
	out := lines{json.NewEncoder(w), http.NewResponseController(w)}
	if err = out.send(instanceBody{s.opt.History.ID()}); err == nil {
		err = out.records(stream.Past())
	}
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case records, more := <-stream.News():
			if !more {
				return
			}
			err = out.records(records)
			stream.Read(len(records))
		}
	}
	s.opt.Log.Debug("event stream ended", zap.String("client", r.RemoteAddr), zap.Error(err))
}

// lines writes JSON to a client that reads at once.
type lines struct {
	*json.Encoder
	*http.ResponseController
}

func (l lines) records(records []events.Record) error {
	for i := range records {
		if err := l.send(viewRecord(&records[i])); err != nil {
			return err
		}
	}
	return nil
}

func (l lines) send(body any) error {
	if err := l.SetWriteDeadline(time.Now().Add(lineTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := l.Encode(body); err != nil {
		return err
	}
	return l.Flush()
}

// eventsBody has the keys of upstream, which are Go names.
type eventsBody struct {
	InstanceUUID        string
	LowestID, HighestID uint64
	EventRecords        []eventBody // null when the first that was asked for is not kept
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
	Partition         string        `json:"partition,omitempty"` // ours: upstream cannot tell two apart
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
	}
	for name, n := range r.Amounts.All() {
		if b.Resource.Resources == nil {
			b.Resource.Resources = map[string]eventQuantity{}
		}
		b.Resource.Resources[name] = eventQuantity{int64(n)}
	}
	return b
}
