package rmproxy

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
)

// sealed is a message as it comes off the wire. To gRPC it can always be read; whether it
// could, the door learns from open. Otherwise gRPC itself would end the stream, and call
// it an internal error of ours when a peer sends what is not a message.
type sealed struct {
	m     request
	err   error
	coded *coded
}

func seal(m request) *sealed {
	s := &sealed{m: m}
	s.coded = &coded{m.ProtoReflect(), s, &protoiface.Methods{
		Flags: protoiface.SupportUnmarshalDiscardUnknown,
		Unmarshal: func(in protoiface.UnmarshalInput) (protoiface.UnmarshalOutput, error) {
			s.err = proto.Unmarshal(in.Buf, s.m)
			return protoiface.UnmarshalOutput{Flags: protoiface.UnmarshalInitialized}, nil
		},
	}}
	return s
}

// open returns the message that came, or why it is none.
func (s *sealed) open() (request, error) {
	if s.err != nil {
		return nil, fmt.Errorf("%w: malformed message: %w", ErrRequest, s.err)
	}
	return s.m, nil
}

// Reset makes room for the next message.
func (s *sealed) Reset() {
	s.err = nil
	s.m.Reset()
}

// ProtoReflect makes it a message in the eyes of gRPC.
func (s *sealed) ProtoReflect() protoreflect.Message { return s.coded }
