package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"

	"github.com/canopy-scheduler/canopy/internal/wire"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The messages about asks and allocations bring their own coding (ADR 15). The codec
// of gRPC finds it where it finds that of generated messages, so a server needs no
// option for it, and whatever else a server serves is coded as ever.

// leanRequest is an AllocationRequest that is read without the generated code. A
// stream uses the same one for all its messages.
type leanRequest struct {
	wire.AllocationRequest
	decoder *wire.Decoder
	coded   *coded
}

func newLeanRequest() *leanRequest {
	m := &leanRequest{decoder: wire.NewDecoder(amountsOf)}
	m.coded = &coded{(*si.AllocationRequest)(nil).ProtoReflect(), m, &protoiface.Methods{
		Flags: protoiface.SupportUnmarshalDiscardUnknown,
		Unmarshal: func(in protoiface.UnmarshalInput) (protoiface.UnmarshalOutput, error) {
			err := m.decoder.Decode(in.Buf, &m.AllocationRequest)
			return protoiface.UnmarshalOutput{Flags: protoiface.UnmarshalInitialized}, err
		},
	}}
	return m
}

// GetRmID is what the generated messages call it.
func (m *leanRequest) GetRmID() string { return m.RM }

// ProtoReflect makes it a message in the eyes of gRPC.
func (m *leanRequest) ProtoReflect() protoreflect.Message { return m.coded }

// leanResponse is an AllocationResponse that is written without the generated code. A
// stream uses the same one for all its messages: sending one copies it.
type leanResponse struct {
	wire.Response
	coded *coded
}

func newLeanResponse() *leanResponse {
	m := &leanResponse{}
	m.coded = &coded{(*si.AllocationResponse)(nil).ProtoReflect(), m, &protoiface.Methods{
		Flags: protoiface.SupportMarshalDeterministic,
		Size: func(protoiface.SizeInput) protoiface.SizeOutput {
			b, _ := m.Bytes()
			return protoiface.SizeOutput{Size: len(b)}
		},
		Marshal: func(in protoiface.MarshalInput) (protoiface.MarshalOutput, error) {
			b, err := m.Bytes()
			return protoiface.MarshalOutput{Buf: append(in.Buf, b...)}, err
		},
		CheckInitialized: func(protoiface.CheckInitializedInput) (protoiface.CheckInitializedOutput, error) {
			return protoiface.CheckInitializedOutput{}, nil
		},
	}}
	return m
}

// ProtoReflect makes it a message in the eyes of gRPC.
func (m *leanResponse) ProtoReflect() protoreflect.Message { return m.coded }

// say replaces the message by one of effects of one list. It says what
// allocationResponse says.
func (m *leanResponse) say(s *session, batch []saying) {
	m.Reset()
	var bare, partition string
	for _, said := range batch {
		switch e := said.effect.(type) {
		case scheduler.Allocated:
			m.Allocated(e.Ask, e.Node)
		case scheduler.Released:
			if partition == "" || said.partition != bare {
				bare, partition = said.partition, s.partitionName(said.partition)
			}
			m.Released(e, partition, reason(e.Message))
		case scheduler.AskRejected:
			m.AskRejected(e, reason(e.Reason))
		}
	}
}

// wording is how a stream of a kind puts effects. A message is good until the next.
func (s *session) wording(k kind) func([]saying) proto.Message {
	if k != allocations {
		return s.message
	}
	m := newLeanResponse()
	return func(batch []saying) proto.Message {
		m.say(s, batch)
		return m
	}
}

// coded is the reflection of a message with a coding of its own. Of everything else
// there is to a message it knows the type only: its fields read as empty.
type coded struct {
	protoreflect.Message
	self    proto.Message
	methods *protoiface.Methods
}

// Interface is the message itself.
func (c *coded) Interface() protoreflect.ProtoMessage { return c.self }

// ProtoMethods is where the codec looks first.
func (c *coded) ProtoMethods() *protoiface.Methods { return c.methods }
