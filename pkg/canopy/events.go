package canopy

import (
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// sentEvents are the records of the event history that a resource manager in this process gets by SendEvent (RMI-81).
type sentEvents struct{ history *history.History }

var _ rmproxy.EventSource = sentEvents{}

// NextID implements rmproxy.EventSource.
func (e sentEvents) NextID() uint64 { return e.history.Counts().Added }

// About implements rmproxy.EventSource. What allocations do to nodes is left out: the resource manager has decided or
// got that itself, and it would be most of the records.
func (e sentEvents) About(from uint64, count int) (records []events.Record, next uint64) {
	next = e.NextID()
	if from >= next {
		return nil, from
	}
	batch, last, ok := e.history.Select(&from, count, func(r *events.Record) bool {
		return r.Type == events.Request || r.Type == events.Node && r.Reference == ""
	})
	switch {
	case batch.Records != nil && ok:
	case batch.Lowest > from:
		return e.About(batch.Lowest, count) // the record is not kept any more
	default:
		return nil, next // nothing is recorded
	}
	for r := range batch.Records.All() {
		records = append(records, *r)
	}
	return records, last
}
