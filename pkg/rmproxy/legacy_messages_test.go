package rmproxy

import (
	"fmt"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// prioritySpelling says how a description of the messages has the priority of an ask: in the same field, 1.0 has a
// message and later versions have a number. A description can have one of both; the message takes more memory.
type prioritySpelling uint8

const (
	priorityAsNumber prioritySpelling = iota
	priorityAsMessage
)

// legacyFields are the fields that the interface 1.9 does not have any more: "number name type". A type that begins
// with a capital letter is a message, and a list has * in front.
var legacyFields = map[string][]string{
	"AllocationRequest":         {"1 asks *AllocationAsk"},
	"AllocationReleasesRequest": {"2 allocationAsksToRelease *AllocationAskRelease"},
	"AllocationRelease":         {"3 UUID string", "7 allocationID string"},
	"Allocation":                {"3 UUID string", "7 queueName string", "13 allocationID string"},
	"NodeInfo":                  {"5 occupiedResource Resource", "6 existingAllocations *Allocation"},
	"AllocationResponse":        {"3 releasedAsks *AllocationAskRelease", "4 rejected *RejectedAllocationAsk"},
	"AllocationAsk": {
		"1 allocationKey string", "2 applicationID string", "3 partitionName string", "4 resourceAsk Resource",
		"5 maxAllocations int32", "6 priority int32", "7 executionTimeoutMilliSeconds int64",
		"8 tags *AllocationAsk.TagsEntry",
		"9 taskGroupName string", "10 placeholder bool", "11 originator bool", "12 preemptionPolicy PreemptionPolicy",
	},
	"AllocationAskRelease": {
		"1 partitionName string", "2 applicationID string", "3 allocationKey string", "4 terminationType int32",
		"5 message string",
	},
	"RejectedAllocationAsk": {"1 allocationKey string", "2 applicationID string", "3 reason string"},
	"Priority":              {"1 priorityValue int32", "2 priorityClassName string"},
}

// messagesOfAllVersions describes the messages of the interface with the fields of all versions from 1.0 to 1.9.
// It is registered nowhere.
func messagesOfAllVersions(spelling prioritySpelling) protoreflect.MessageDescriptors {
	file := protodesc.ToFileDescriptorProto((&si.AllocationRequest{}).ProtoReflect().Descriptor().ParentFile())
	messages := map[string]*descriptorpb.DescriptorProto{}
	for _, m := range file.MessageType {
		m.ReservedRange, m.ReservedName = nil, nil
		messages[m.GetName()] = m
	}
	for _, name := range []string{"AllocationAsk", "AllocationAskRelease", "RejectedAllocationAsk", "Priority"} {
		messages[name] = &descriptorpb.DescriptorProto{Name: proto.String(name)}
		file.MessageType = append(file.MessageType, messages[name])
	}
	for name, fields := range legacyFields {
		for _, text := range fields {
			messages[name].Field = append(messages[name].Field, legacyField(text))
		}
	}
	tags := proto.CloneOf(messages["Allocation"].NestedType[0]) // of its only map
	tags.Name = proto.String("TagsEntry")
	messages["AllocationAsk"].NestedType = append(messages["AllocationAsk"].NestedType, tags)
	messages["Priority"].OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("priority")}}
	for _, f := range messages["Priority"].Field {
		f.OneofIndex = proto.Int32(0)
	}
	if spelling == priorityAsMessage {
		for _, name := range []string{"Allocation", "AllocationAsk"} {
			for i, f := range messages[name].Field {
				if f.GetName() == "priority" {
					messages[name].Field[i] = legacyField("6 priority Priority")
				}
			}
		}
	}
	built, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		panic(fmt.Sprintf("rmproxy: the description of the messages of all versions is invalid: %v", err))
	}
	return built.Messages()
}

// legacyField is the field that a text of legacyFields describes.
func legacyField(text string) *descriptorpb.FieldDescriptorProto {
	var number int32
	var name, kind string
	if _, err := fmt.Sscan(text, &number, &name, &kind); err != nil {
		panic(fmt.Sprintf("rmproxy: %q is no field: %v", text, err))
	}
	f := &descriptorpb.FieldDescriptorProto{
		Name: &name, Number: &number, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if element, list := strings.CutPrefix(kind, "*"); list {
		kind, f.Label = element, descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if t, scalar := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(kind)]; scalar {
		f.Type = descriptorpb.FieldDescriptorProto_Type(t).Enum()
	} else {
		f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".si.v1."+kind)
	}
	return f
}
