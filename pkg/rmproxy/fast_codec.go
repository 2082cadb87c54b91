package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The messages about asks and allocations have a hand-written codec (ADR 15). The gRPC codec
// finds it as methods of the message, as with generated messages, so the server needs no option
// for it, and other messages use the generated code.

// fastRequest is an AllocationRequest that is decoded without the generated code. A stream reuses
// one for all its messages.
type fastRequest struct {
	wire.AllocationRequest
	decoder *wire.Decoder
	codec   *codecMessage
}

func newFastRequest() *fastRequest {
	m := &fastRequest{decoder: wire.NewDecoder(amountsOf)}
	m.codec = &codecMessage{(*si.AllocationRequest)(nil).ProtoReflect(), m, &protoiface.Methods{
		Flags: protoiface.SupportUnmarshalDiscardUnknown,
		Unmarshal: func(in protoiface.UnmarshalInput) (protoiface.UnmarshalOutput, error) {
			err := m.decoder.Decode(in.Buf, &m.AllocationRequest)
			return protoiface.UnmarshalOutput{Flags: protoiface.UnmarshalInitialized}, err
		},
	}}
	return m
}

// GetRmID is the rmID of the message, as in the generated code.
func (m *fastRequest) GetRmID() string { return m.RM }

// ProtoReflect makes it a proto.Message for gRPC.
func (m *fastRequest) ProtoReflect() protoreflect.Message { return m.codec }

// fastResponse is an AllocationResponse that is encoded without the generated code. A stream
// reuses one for all its messages: sending copies it.
type fastResponse struct {
	wire.Response
	codec *codecMessage
}

func newFastResponse() *fastResponse {
	m := &fastResponse{}
	m.codec = &codecMessage{(*si.AllocationResponse)(nil).ProtoReflect(), m, &protoiface.Methods{
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

// ProtoReflect makes it a proto.Message for gRPC.
func (m *fastResponse) ProtoReflect() protoreflect.Message { return m.codec }

// encode replaces the message by one of effects of one list. The result equals that of
// allocationResponse.
func (m *fastResponse) encode(s *session, batch []outboundEffect) {
	m.Reset()
	if s.legacy.used.Load() {
		m.encodeLegacy(s, batch)
		return
	}
	var bare, partition string
	for _, o := range batch {
		switch e := o.effect.(type) {
		case scheduler.Allocated:
			m.Allocated(e.Ask, e.Node)
		case scheduler.Released:
			if partition == "" || o.partition != bare {
				bare, partition = o.partition, s.partitionName(o.partition)
			}
			m.Released(e, partition, reason(e.Message))
		case scheduler.AskRejected:
			m.AskRejected(e, reason(e.Reason))
		}
	}
}

// encoder returns how a stream of a kind encodes effects. A message is valid until the next call.
func (s *session) encoder(k streamKind) func([]outboundEffect) proto.Message {
	if k != allocationStream {
		return s.message
	}
	m := newFastResponse()
	return func(batch []outboundEffect) proto.Message {
		m.encode(s, batch)
		return m
	}
}

// codecMessage is the reflection of a message with its own codec. Its type is right; its fields
// read as empty.
type codecMessage struct {
	protoreflect.Message
	self    proto.Message
	methods *protoiface.Methods
}

// Interface is the message itself.
func (c *codecMessage) Interface() protoreflect.ProtoMessage { return c.self }

// ProtoMethods is where the protobuf library looks up a codec.
func (c *codecMessage) ProtoMethods() *protoiface.Methods { return c.methods }
