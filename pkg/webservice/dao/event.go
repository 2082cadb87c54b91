package dao

import "github.com/canopy-scheduler/canopy/pkg/events"

// EventBatch is records from an ID on, with the keys of YuniKorn, which are names of Go fields.
type EventBatch struct {
	InstanceUUID        string
	LowestID, HighestID uint64
	EventRecords        List[Event] // null if the record with the ID start is not kept
	NextID              uint64      `json:",omitempty"` // ours, with since or until: the start of the next page
}

// Event is a record of the event history.
type Event struct {
	Type              events.Type   `json:"type,omitempty"`
	ObjectID          string        `json:"objectID,omitempty"`
	Message           string        `json:"message,omitempty"`
	TimestampNano     int64         `json:"timestampNano,omitempty"`
	EventChangeType   events.Change `json:"eventChangeType,omitempty"`
	EventChangeDetail events.Detail `json:"eventChangeDetail,omitempty"`
	ReferenceID       string        `json:"referenceID,omitempty"`
	Resource          EventResource `json:"resource"`
	Partition         string        `json:"partition,omitempty"` // ours: YuniKorn's records do not have it

	// Ours: the numbers in words.
	TypeName         string `json:"typeName,omitempty"`
	ChangeTypeName   string `json:"eventChangeTypeName,omitempty"`
	ChangeDetailName string `json:"eventChangeDetailName,omitempty"`
}

// EventResource is the amounts of an event.
type EventResource struct {
	Resources map[string]EventQuantity `json:"resources,omitempty"`
}

// EventQuantity is one amount of an event.
type EventQuantity struct {
	Value int64 `json:"value,omitempty"`
}

// NewEvent shows r. Its numbers are those of YuniKorn.
func NewEvent(r *events.Record) Event {
	v := Event{
		Type: r.Type, ObjectID: r.Object, Message: r.Message, TimestampNano: r.At.UnixNano(), EventChangeType: r.Change,
		EventChangeDetail: r.Detail, ReferenceID: r.Reference, Partition: r.Partition, TypeName: r.Type.String(),
		ChangeTypeName: r.Change.String(), ChangeDetailName: r.Detail.String(),
	}
	for name, n := range r.Amounts.All() {
		if v.Resource.Resources == nil {
			v.Resource.Resources = map[string]EventQuantity{}
		}
		v.Resource.Resources[name] = EventQuantity{int64(n)}
	}
	return v
}
