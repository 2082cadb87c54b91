package rmproxy

import (
	"errors"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
)

// The messages of all versions of the interface, decoded by the protobuf library: what the fast codec is compared
// with. There are two descriptions, because 1.0 has the priority in another form than its successors.
var (
	allWithNumber  = messagesOfAllVersions(priorityAsNumber)
	allWithMessage = messagesOfAllVersions(priorityAsMessage)
)

// dynamicMessage is a message that the protobuf library decodes by its description.
type dynamicMessage struct{ protoreflect.Message }

func (m dynamicMessage) field(name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

func (m dynamicMessage) has(name protoreflect.Name) bool {
	return m.Has(m.Descriptor().Fields().ByName(name))
}

func (m dynamicMessage) text(name protoreflect.Name) string { return m.field(name).String() }

func (m dynamicMessage) number(name protoreflect.Name) int32 { return int32(m.field(name).Int()) }

func (m dynamicMessage) message(name protoreflect.Name) dynamicMessage {
	return dynamicMessage{m.field(name).Message()}
}

func (m dynamicMessage) list(name protoreflect.Name) (all []dynamicMessage) {
	l := m.field(name).List()
	for i := range l.Len() {
		all = append(all, dynamicMessage{l.Get(i).Message()})
	}
	return all
}

// as decodes the fields of the message that into has.
func (m dynamicMessage) as(t *testing.T, into proto.Message) {
	b, err := proto.Marshal(m.Interface())
	assert.NilError(t, err)
	assert.NilError(t, proto.Unmarshal(b, into))
}

// errNoReference is a message that the protobuf library cannot decode by a description: it panics if the key of an
// entry of a map comes once as a text and then with another type.
var errNoReference = errors.New("the protobuf library panics")

// decodeBoth decodes with both descriptions.
func decodeBoth(in []byte, name protoreflect.Name) (withNumber, withMessage dynamicMessage, err error) {
	defer func() {
		if recover() != nil {
			err = errNoReference
		}
	}()
	number, message := dynamicpb.NewMessage(allWithNumber.ByName(name)), dynamicpb.NewMessage(allWithMessage.ByName(name))
	err = errors.Join(proto.Unmarshal(in, number), proto.Unmarshal(in, message))
	return dynamicMessage{number}, dynamicMessage{message}, err
}

// referenceRequest is what the fast codec must read, if the bytes are a message.
func referenceRequest(t *testing.T, in []byte) (*wire.AllocationRequest, error) {
	number, message, err := decodeBoth(in, "AllocationRequest")
	if err != nil {
		return nil, err
	}
	var known si.AllocationRequest
	number.as(t, &known)
	want := (&session{}).fromProto(&known)
	releases := number.message("releases")
	want.Unknown = len(number.GetUnknown())+len(releases.GetUnknown()) > 0
	for i, x := range message.list("allocations") {
		setReferenceLegacy(&want.Allocations[i], x)
		want.Legacy = want.Legacy || want.Allocations[i].Legacy != nil || x.message("priority").hasAny()
	}
	for i, x := range releases.list("allocationsToRelease") {
		want.Releases[i].UUID = x.text("allocationID")
		if want.Releases[i].UUID == "" {
			want.Releases[i].UUID = x.text("UUID")
		}
		want.Legacy = want.Legacy || want.Releases[i].UUID != ""
	}
	withMessage := message.list("asks")
	for i, x := range number.list("asks") {
		want.Asks, want.Legacy = append(want.Asks, referenceAsk(t, x, withMessage[i])), true
	}
	for _, x := range releases.list("allocationAsksToRelease") {
		want.AskReleases, want.Legacy = append(want.AskReleases, wire.Release{
			Partition: x.text("partitionName"), App: x.text("applicationID"), Key: x.text("allocationKey"),
			Type: x.number("terminationType"),
		}), true
	}
	for _, list := range [][]wire.Allocation{want.Allocations, want.Asks} {
		for i := range list {
			if len(list[i].Tags) == 0 {
				list[i].Tags = nil // the generated code makes an empty map for tags of a wrong type
			}
		}
	}
	return want, nil
}

// hasAny reports whether a Priority has one of its forms.
func (m dynamicMessage) hasAny() bool { return m.has("priorityValue") || m.has("priorityClassName") }

// setReferenceLegacy sets the legacy fields of an allocation, and its priority if it is a message.
func setReferenceLegacy(x *wire.Allocation, from dynamicMessage) {
	priority := from.message("priority")
	legacy := wire.LegacyFields{UUID: from.text("UUID"), AllocationID: from.text("allocationID"),
		PriorityClass: priority.text("priorityClassName")}
	if priority.hasAny() {
		x.Priority = priority.number("priorityValue")
	}
	if legacy != (wire.LegacyFields{}) {
		x.Legacy = &legacy
	}
}

func referenceAsk(t *testing.T, withNumber, withMessage dynamicMessage) wire.Allocation {
	var resource si.Resource
	withNumber.message("resourceAsk").as(t, &resource)
	x := wire.Allocation{
		Key: withNumber.text("allocationKey"), App: withNumber.text("applicationID"),
		Partition: withNumber.text("partitionName"),
		TaskGroup: withNumber.text("taskGroupName"), Priority: withNumber.number("priority"), Tags: map[string]string{},
		Placeholder: withNumber.field("placeholder").Bool(), Originator: withNumber.field("originator").Bool(),
	}
	x.Amounts, x.AmountsErr = amountsFromProto(&resource)
	withNumber.field("tags").Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		x.Tags[k.String()] = v.String()
		return true
	})
	if withNumber.has("preemptionPolicy") {
		var policy si.PreemptionPolicy
		withNumber.message("preemptionPolicy").as(t, &policy)
		x.Policy = preemptionPolicy(&policy)
	}
	priority := withMessage.message("priority")
	if priority.hasAny() {
		x.Priority = priority.number("priorityValue")
	}
	x.Legacy = &wire.LegacyFields{PriorityClass: priority.text("priorityClassName"),
		MaxAllocations: withNumber.number("maxAllocations")}
	return x
}

// comparable returns the request in the form of a reference: without capacity, and of legacy fields what is
// exported.
func comparable(m wire.AllocationRequest) wire.AllocationRequest {
	if len(m.Allocations) == 0 {
		m.Allocations = nil
	}
	if len(m.Releases) == 0 {
		m.Releases = nil
	}
	if len(m.Asks) == 0 {
		m.Asks = nil
	}
	if len(m.AskReleases) == 0 {
		m.AskReleases = nil
	}
	for i := range m.Allocations {
		if x := &m.Allocations[i]; x.Legacy != nil {
			x.Legacy = exportedLegacy(x.Legacy)
			if *x.Legacy == (wire.LegacyFields{}) {
				x.Legacy = nil
			}
		}
	}
	for i := range m.Asks {
		m.Asks[i].Legacy = exportedLegacy(m.Asks[i].Legacy)
	}
	return m
}

func exportedLegacy(l *wire.LegacyFields) *wire.LegacyFields {
	return &wire.LegacyFields{UUID: l.UUID, AllocationID: l.AllocationID, PriorityClass: l.PriorityClass,
		MaxAllocations: l.MaxAllocations}
}
