package rmproxy

import (
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// codec is the codec of the gRPC server. A *mem.BufferSlice receives a message as it came, so that its sender and
// its size are checked before it is decoded (RMI-36, ADR 35). A *wire.Response is sent without the generated code
// (ADR 15). All other messages use the codec of gRPC.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(protocodec.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*wire.Response)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	b, err := m.Bytes()
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.Copy(b, mem.DefaultBufferPool())}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*mem.BufferSlice)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	data.Ref()
	*m = data
	return nil
}

// request is a message on a stream of an RM, decoded. A stream reuses one for all its messages. Only the fields of
// its kind are set.
type request struct {
	kind         streamKind
	rm           string
	nodes        si.NodeRequest
	legacyNodes  []wire.LegacyNode // by index in nodes; nil: there are none
	applications si.ApplicationRequest
	allocations  wire.AllocationRequest
	decoder      *wire.Decoder // nil: it was not needed yet
}

// decode replaces the content by that of b, and does not refer to b afterwards. After an error the content is
// undefined. Messages about allocations are decoded without the generated code (ADR 15); so are the fields of the
// interface 1.0 to 1.5, which the generated code does not know.
func (m *request) decode(b []byte) (err error) {
	m.reset()
	switch m.kind {
	case nodeStream:
		err = unmarshal(b, &m.nodes)
		m.rm = m.nodes.RmID
		if err == nil && wire.HasLegacyNodes(b) {
			m.legacyNodes, err = m.wireDecoder().LegacyNodes(b)
		}
	case applicationStream:
		err = unmarshal(b, &m.applications)
		m.rm = m.applications.RmID
	default:
		err = m.wireDecoder().Decode(b, &m.allocations)
		m.rm = m.allocations.RM
	}
	return err
}

func (m *request) wireDecoder() *wire.Decoder {
	if m.decoder == nil {
		m.decoder = wire.NewDecoder(amountsOf)
	}
	return m.decoder
}

// reset removes the content.
func (m *request) reset() {
	m.rm, m.legacyNodes = "", nil
	m.nodes.Reset()
	m.applications.Reset()
	m.allocations.Reset()
}

// handle turns the message into commands.
func (m *request) handle(s *session) error {
	switch m.kind {
	case nodeStream:
		return s.handleNodes(&m.nodes, m.legacyNodes)
	case applicationStream:
		return s.handleApplications(&m.applications)
	}
	return s.handleAllocations(&m.allocations)
}

// encode replaces the message by one of effects of one list. The result equals that of
// allocationResponse.
func (s *session) encode(m *wire.Response, batch []outboundEffect) {
	m.Reset()
	if s.legacy.used.Load() {
		s.encodeLegacy(m, batch)
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
func (s *session) encoder(k streamKind) func([]outboundEffect) any {
	if k != allocationStream {
		return func(batch []outboundEffect) any { return s.message(batch) }
	}
	m := &wire.Response{}
	return func(batch []outboundEffect) any {
		s.encode(m, batch)
		return m
	}
}
