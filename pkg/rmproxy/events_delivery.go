package rmproxy

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/events"
)

// EventSource has the records of the event history that a linked shim gets.
type EventSource interface {
	// NextID is the ID of the next record.
	NextID() uint64
	// About are up to count records about asks and nodes, from an ID on. next is the ID after the last record that was
	// read; records that are not kept any more are skipped.
	About(from uint64, count int) (records []events.Record, next uint64)
}

// Every eventInterval a linked shim gets eventBatch records at most; more follow the next time. It makes an event of
// the API server of each.
const (
	eventInterval = 2 * time.Second
	eventBatch    = 1000
)

// sendEvents sends the records of events to the shim until the session ends (RMI-81).
func (s *session) sendEvents(source EventSource, next uint64) {
	ticker := time.NewTicker(eventInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		var records []events.Record
		records, next = source.About(next, eventBatch)
		if len(records) == 0 || s.ended() {
			continue
		}
		message := make([]*si.EventRecord, len(records))
		for i := range records {
			message[i] = eventRecord(&records[i])
		}
		s.shim.callback.SendEvent(message)
	}
}

func eventRecord(r *events.Record) *si.EventRecord {
	record := &si.EventRecord{
		Type: si.EventRecord_Type(r.Type), ObjectID: r.Object, ReferenceID: r.Reference, Message: r.Message,
		TimestampNano:   r.At.UnixNano(),
		EventChangeType: si.EventRecord_ChangeType(r.Change), EventChangeDetail: si.EventRecord_ChangeDetail(r.Detail),
	}
	if !r.Amounts.IsZero() {
		record.Resource = &si.Resource{Resources: quantities(r.Amounts, nil)}
	}
	return record
}
