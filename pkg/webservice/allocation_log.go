package webservice

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Refusal is a reason for which a resource manager has refused nodes for an ask.
type Refusal struct {
	Text  string
	Last  time.Time
	Count int // at least 1
}

// allocationLog are the reasons for which a pending ask was not placed, the last one at the end (OBS-21).
func allocationLog(w *scheduler.AllocationView, refusals []Refusal) (log []dao.AskLog) {
	for _, r := range refusals {
		log = append(log, dao.AskLog{Message: r.Text, LastOccurrence: dao.Nanos(r.Last), Count: r.Count})
	}
	if reason, ok := dao.QuotaLog(w); ok {
		log = append(log, reason)
		slices.SortStableFunc(log, func(a, b dao.AskLog) int { return int(a.LastOccurrence - b.LastOccurrence) })
	}
	return log
}

// withRefusals has e show the refusals of nodes for the asks of a partition. It is not for lists: their texts are kept
// as long as the asks do not change.
func (s *service) withRefusals(e *encoder, partition string) *encoder {
	if s.opt.Refusals != nil {
		e.refusals = func(ask objects.AllocationKey) []Refusal { return s.opt.Refusals(partition, ask) }
	}
	return e
}

// refusalsOf are the refusals that e shows of an ask.
func (e *encoder) refusalsOf(ask objects.AllocationKey) []Refusal {
	if e.refusals == nil {
		return nil
	}
	return e.refusals(ask)
}

// optionalLog appends the field allocationLog, if there are reasons.
func (t *jsonText) optionalLog(log []dao.AskLog) {
	if len(log) == 0 {
		return
	}
	t.name("allocationLog")
	t.begin('[')
	for _, reason := range log {
		t.begin('{')
		t.optional("message", reason.Message)
		t.optionalNumber("lastOccurrence", reason.LastOccurrence)
		t.optionalNumber("count", int64(reason.Count))
		t.end('}')
	}
	t.end(']')
}
