package webservice

import (
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
)

// The JSON of the event history, which has the keys of YuniKorn (OBS-24, OBS-32). An answer may have ten
// thousand records: they are written one by one, from the blocks of the history.

// eventPieces is the JSON of a batch. Its records are null if the first requested one is not kept. next is ours,
// with since or until: the start of the next page, left out if it is 0.
func eventPieces(instance string, b history.Batch, next uint64) pieces {
	return func(yield func([]byte) bool) {
		t := newJSONText()
		defer t.release()
		t.begin('{')
		t.field("InstanceUUID", instance)
		t.name("LowestID")
		t.number(int64(b.Lowest))
		t.name("HighestID")
		t.number(int64(b.Highest))
		t.name("EventRecords")
		if b.Records == nil {
			t.text, t.comma = append(t.text, "null"...), true
		} else {
			t.begin('[')
			for r := range b.Records.All() {
				if !t.flush(yield) {
					return
				}
				t.record(r)
			}
			t.end(']')
		}
		t.optionalCount("NextID", next)
		t.end('}')
		yield(t.text)
	}
}

// record appends a record. Its numbers are those of YuniKorn; the partition, and the numbers in words, are
// ours.
func (t *jsonText) record(r *events.Record) {
	t.begin('{')
	t.optionalNumber("type", int64(r.Type))
	t.optional("objectID", r.Object)
	t.optional("message", r.Message)
	t.optionalNumber("timestampNano", r.At.UnixNano())
	t.optionalNumber("eventChangeType", int64(r.Change))
	t.optionalNumber("eventChangeDetail", int64(r.Detail))
	t.optional("referenceID", r.Reference)
	t.name("resource")
	t.begin('{')
	if !r.Amounts.IsZero() {
		t.name("resources")
		t.begin('{')
		for resource, n := range r.Amounts.All() {
			t.key(resource)
			t.begin('{')
			t.optionalNumber("value", int64(n))
			t.end('}')
		}
		t.end('}')
	}
	t.end('}')
	t.optional("partition", r.Partition)
	t.optional("typeName", r.Type.String())
	t.optional("eventChangeTypeName", r.Change.String())
	t.optional("eventChangeDetailName", r.Detail.String())
	t.end('}')
}
