package webservice

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/pkg/events"
)

// The bodies whose JSON eventPieces and jsonText.record write.

// eventsBody has the keys of YuniKorn, which are names of Go fields.
type eventsBody struct {
	InstanceUUID        string
	LowestID, HighestID uint64
	EventRecords        []eventBody // null if the record with the ID start is not kept
	NextID              uint64      `json:",omitempty"` // ours, with since or until: the start of the next page
}

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

func drawRecord(t *rapid.T) events.Record {
	text, amounts := anyText, drawAmounts(t)
	return events.Record{
		Type: events.Type(rapid.Uint8().Draw(t, "type")), Object: text.Draw(t, "object"), Reference: text.Draw(t, "reference"),
		Change: events.Change(rapid.Uint8Range(0, 5).Draw(t, "change")), Detail: events.Detail(rapid.Uint16Range(0, 700).Draw(t, "detail")),
		Message: text.Draw(t, "message"), Amounts: amounts, Partition: text.Draw(t, "partition"),
		At: time.Unix(0, rapid.Int64().Draw(t, "at")),
	}
}

// A batch of events is, byte for byte, what encoding/json makes of its body.
func TestEvents_BatchEqualsMarshalling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(drawRecord), -1, 60).Draw(t, "records")
		b := history.Batch{Lowest: uint64(rapid.IntRange(0, 9).Draw(t, "lowest")), Highest: uint64(rapid.IntRange(0, 9).Draw(t, "highest"))}
		next := uint64(rapid.IntRange(0, 3).Draw(t, "next"))
		body := eventsBody{InstanceUUID: "id", LowestID: b.Lowest, HighestID: b.Highest, NextID: next}
		if rapid.Bool().Draw(t, "kept") {
			cut := rapid.IntRange(0, len(records)).Draw(t, "cut")
			b.Records = events.Records{records[:cut], records[cut:]}
			body.EventRecords = []eventBody{}
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
