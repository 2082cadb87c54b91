package rmproxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/wire"
)

// gRPC receives and decodes a whole message before a handler sees it. So the messages of the
// interface are received here, from the transport stream below: the length comes first, and
// limits are checked before a message is received and before it is decoded (ADR 35).

// transport is the stream below a grpc.ServerStream.
type transport interface {
	ReadMessageHeader([]byte) error
	Read(n int) (mem.BufferSlice, error)
}

var errTransport = errors.New("this version of gRPC does not support reading messages in pieces")

// messageReader receives the messages of one stream. It is not safe for concurrent use.
type messageReader struct {
	p         *Proxy
	ctx       context.Context
	cancel    context.CancelCauseFunc // ends the stream
	transport transport
	header    [5]byte
	buffer    []byte // for a message in several pieces; kept for the next one
	onRelease func() // releases what the current message holds; nil: nothing
}

func newMessageReader(p *Proxy, ctx context.Context, cancel context.CancelCauseFunc) *messageReader {
	from, _ := grpc.ServerTransportStreamFromContext(ctx).(transport)
	return &messageReader{p: p, ctx: ctx, cancel: cancel, transport: from}
}

// readLength waits for the next message and returns its length in bytes. io.EOF: there is none
// (RMI-37, RMI-41).
func (r *messageReader) readLength() (int, error) {
	if r.transport == nil {
		return 0, status.Error(codes.Internal, errTransport.Error())
	}
	if err := r.transport.ReadMessageHeader(r.header[:]); err != nil {
		return 0, streamEndError(err)
	}
	if r.header[0] != 0 {
		return 0, status.Error(codes.Unimplemented, "compressed messages are not supported")
	}
	n := binary.BigEndian.Uint32(r.header[1:])
	if limit := r.p.opt.Limits.MessageBytes; uint64(n) > uint64(limit) {
		return 0, fmt.Errorf("%w: the message has %d bytes, at most %d are allowed", ErrTooLarge, n, limit)
	}
	return int(n), nil
}

// readBytes receives a message of n bytes; a large one waits for memory of budget (RMI-39). The
// bytes are valid until release.
func (r *messageReader) readBytes(n int, budget *semaphore.Weighted) ([]byte, error) {
	r.release()
	if n == 0 {
		return nil, nil
	}
	defer r.deadline(n)()
	if n <= smallMessage {
		return r.readSmall(n)
	}
	if err := budget.Acquire(r.ctx, int64(n)); err != nil {
		return nil, err
	}
	buffer := make([]byte, 0, n)
	r.onRelease = func() { budget.Release(int64(n)) }
	for len(buffer) < n {
		pieces, err := r.transport.Read(min(n-len(buffer), smallMessage))
		if err != nil {
			return nil, streamEndError(err)
		}
		for _, b := range pieces {
			buffer = append(buffer, b.ReadOnlyData()...)
		}
		pieces.Free()
	}
	return buffer, nil
}

func (r *messageReader) readSmall(n int) ([]byte, error) {
	pieces, err := r.transport.Read(n)
	if err != nil {
		return nil, streamEndError(err)
	}
	if len(pieces) == 1 {
		r.onRelease = pieces.Free
		return pieces[0].ReadOnlyData(), nil
	}
	r.buffer = r.buffer[:0]
	for _, b := range pieces {
		r.buffer = append(r.buffer, b.ReadOnlyData()...)
	}
	pieces.Free()
	return r.buffer, nil
}

// deadline ends the stream if a message of n bytes does not arrive in time, unless stop is called
// before (RMI-40).
func (r *messageReader) deadline(n int) (stop func() bool) {
	if n <= tinyMessage {
		return func() bool { return true } // it usually arrives with its header
	}
	return time.AfterFunc(arrivalTimeout(n), func() {
		r.cancel(fmt.Errorf("%w: a message of %d bytes did not arrive within %v", errTooSlow, n, arrivalTimeout(n)))
	}).Stop
}

// release releases what the last message holds.
func (r *messageReader) release() {
	if r.onRelease != nil {
		r.onRelease()
		r.onRelease = nil
	}
}

// streamEndError distinguishes the end of a stream within a message from one between messages
// (RMI-29).
func streamEndError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the stream ended in the middle of a message", ErrRequest)
	}
	return err
}

// decode decodes a message into m, and first waits for the memory that this takes (RMI-29, RMI-38).
// The caller must call done when the message has been handled; done is never nil.
func (r *messageReader) decode(b []byte, shape *wire.Shape, m request) (done func(), err error) {
	cost, err := r.p.decodeCost(b, shape)
	if err != nil {
		return noop, err
	}
	if cost > 0 {
		if err := r.p.memory.decoding.Acquire(r.ctx, cost); err != nil {
			return noop, err
		}
		done = func() { r.p.memory.decoding.Release(cost) }
	} else {
		done = noop
	}
	switch m := m.(type) {
	case *fastRequest:
		err = m.decoder.Decode(b, &m.AllocationRequest)
	case *nodeRequest:
		err = m.unmarshal(b)
	default:
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, m)
	}
	if err != nil {
		return done, malformed(err)
	}
	return done, nil
}

func noop() {}

func malformed(err error) error { return fmt.Errorf("%w: malformed message: %w", ErrRequest, err) }

// decodeCost is the memory in bytes that decoding a message takes; 0: too little to count (RMI-37).
// An error means that the message must not be decoded.
func (p *Proxy) decodeCost(b []byte, shape *wire.Shape) (cost int64, err error) {
	l := &p.opt.Limits
	// The shortest element takes two bytes.
	if worst := int64(len(b)) * wire.WorstCost; len(b) <= smallMessage && len(b)/2 <= l.MessageElements &&
		worst <= l.DecodeBytes {
		if len(b) <= tinyMessage {
			return 0, nil
		}
		return worst, nil
	}
	size, err := measureMessage(b, shape)
	switch {
	case err != nil:
		return 0, malformed(err)
	case size.Elements > l.MessageElements:
		return 0, fmt.Errorf("%w: the message has %d nodes, applications, allocations and releases, at most %d are allowed: "+
			"send several messages", ErrTooLarge, size.Elements, l.MessageElements)
	case int64(size.Cost) > l.DecodeBytes:
		return 0, fmt.Errorf("%w: the message would take %d bytes of memory, at most %d are allowed: send several messages",
			ErrTooLarge, size.Cost, l.DecodeBytes)
	}
	return int64(size.Cost), nil
}

// acquireCPUSlot returns a slot for walking over a long message, which yields now and then; nil for
// a short message (RMI-42). A long message has millions of fields, and several walks at the same
// time would leave no processor to scheduling.
func acquireCPUSlot(b []byte) *cpushare.Slot {
	if len(b) <= smallMessage {
		return nil
	}
	return cpushare.Senders.Acquire(context.Background())
}

// measureMessage counts the elements and the cost of a message, and senderID returns the rmID of
// its sender. Both release their slot even after a panic: the process survives it, and other
// messages need the slot.
func measureMessage(b []byte, shape *wire.Shape) (wire.Size, error) {
	slot := acquireCPUSlot(b)
	defer slot.Release()
	return shape.Measure(b, slot.Yield)
}

func senderID(b []byte, shape *wire.Shape) (rm []byte, err error) {
	slot := acquireCPUSlot(b)
	defer slot.Release()
	return shape.RM(b, slot.Yield)
}

// registrationShape is the shape of a registration, which is the same in all versions of the interface.
var registrationShape = shapeOf(&si.RegisterResourceManagerRequest{})

func shapeOf(m proto.Message) *wire.Shape { return wire.ShapeOf(m.ProtoReflect().Descriptor()) }
