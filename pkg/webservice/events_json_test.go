package webservice

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

func viewRecord(r *events.Record) dao.Event {
	b := dao.Event{
		Type: r.Type, ObjectID: r.Object, Message: r.Message, TimestampNano: r.At.UnixNano(), EventChangeType: r.Change,
		EventChangeDetail: r.Detail, ReferenceID: r.Reference, Partition: r.Partition,
		TypeName: r.Type.String(), ChangeTypeName: r.Change.String(), ChangeDetailName: r.Detail.String(),
	}
	for name, n := range r.Amounts.All() {
		if b.Resource.Resources == nil {
			b.Resource.Resources = map[string]dao.EventQuantity{}
		}
		b.Resource.Resources[name] = dao.EventQuantity{Value: int64(n)}
	}
	return b
}

func drawRecord(t *rapid.T) events.Record {
	text, amounts := anyText, drawAmounts(t)
	return events.Record{
		Type: events.Type(rapid.Uint8().Draw(t, "type")), Object: text.Draw(t, "object"),
		Reference: text.Draw(t, "reference"),
		Change:    events.Change(rapid.Uint8Range(0, 5).Draw(t, "change")),
		Detail:    events.Detail(rapid.Uint16Range(0, 700).Draw(t, "detail")),
		Message:   text.Draw(t, "message"), Amounts: amounts, Partition: text.Draw(t, "partition"),
		At: time.Unix(0, rapid.Int64().Draw(t, "at")),
	}
}

// A batch of events is, byte for byte, what encoding/json makes of its body.
func TestEvents_BatchEqualsMarshalling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(drawRecord), -1, 60).Draw(t, "records")
		b := history.Batch{Lowest: uint64(rapid.IntRange(0, 9).Draw(t, "lowest")),
			Highest: uint64(rapid.IntRange(0, 9).Draw(t, "highest"))}
		next := uint64(rapid.IntRange(0, 3).Draw(t, "next"))
		body := dao.EventBatch{InstanceUUID: "id", LowestID: b.Lowest, HighestID: b.Highest, NextID: next}
		if rapid.Bool().Draw(t, "kept") {
			cut := rapid.IntRange(0, len(records)).Draw(t, "cut")
			b.Records = events.Records{records[:cut], records[cut:]}
			body.EventRecords = []dao.Event{}
			for i := range records {
				body.EventRecords = append(body.EventRecords, viewRecord(&records[i]))
			}
		}
		want, err := json.Marshal(body)
		assert.NilError(t, err)
		var got bytes.Buffer
		for piece := range eventPieces("id", b, next) {
			got.Write(piece)
		}
		assert.Equal(t, got.String(), string(want))
	})
}
