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

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/internal/wire"
)

// gRPC receives a message as a whole and decodes it before a handler sees anything of it. So
// the messages of the interface are received here, from the stream below that of gRPC: the
// length comes first, and what may be received, and decoded, is decided before it is (ADR 35).

// transport is the stream below a grpc.ServerStream.
type transport interface {
	ReadMessageHeader([]byte) error
	Read(n int) (mem.BufferSlice, error)
}

var errTransport = errors.New("this version of gRPC does not let messages be read in pieces")

// messageReader receives the messages of one stream. It is not safe for concurrent use.
type messageReader struct {
	p      *Proxy
	ctx    context.Context
	cut    context.CancelCauseFunc // ends the stream
	from   transport
	header [5]byte
	whole  []byte // of a message in several pieces; kept while it is small
	freed  func() // gives back what the message under way holds; nil: nothing
}

func newMessageReader(p *Proxy, ctx context.Context, cut context.CancelCauseFunc) *messageReader {
	from, _ := grpc.ServerTransportStreamFromContext(ctx).(transport)
	return &messageReader{p: p, ctx: ctx, cut: cut, from: from}
}

// length waits for the next message and returns how many bytes it has. io.EOF: there will be
// none.
func (r *messageReader) length() (int, error) {
	if r.from == nil {
		return 0, status.Error(codes.Internal, errTransport.Error())
	}
	if err := r.from.ReadMessageHeader(r.header[:]); err != nil {
		return 0, midMessage(err)
	}
	if r.header[0] != 0 {
		return 0, status.Error(codes.Unimplemented, "compressed messages are not supported")
	}
	n := binary.BigEndian.Uint32(r.header[1:])
	if most := r.p.opt.Limits.MessageBytes; uint64(n) > uint64(most) {
		return 0, fmt.Errorf("%w: the message has %d bytes, at most %d are allowed", ErrTooLarge, n, most)
	}
	return int(n), nil
}

// bytes receives a message of a length, large ones when room has them. They are good until
// release.
func (r *messageReader) bytes(n int, room *semaphore.Weighted) ([]byte, error) {
	r.release()
	if n == 0 {
		return nil, nil
	}
	defer r.deadline(n)()
	if n <= smallMessage {
		return r.small(n)
	}
	if err := room.Acquire(r.ctx, int64(n)); err != nil {
		return nil, err
	}
	whole := make([]byte, 0, n)
	r.freed = func() { room.Release(int64(n)) }
	for len(whole) < n {
		some, err := r.from.Read(min(n-len(whole), smallMessage))
		if err != nil {
			return nil, midMessage(err)
		}
		for _, b := range some {
			whole = append(whole, b.ReadOnlyData()...)
		}
		some.Free()
	}
	return whole, nil
}

func (r *messageReader) small(n int) ([]byte, error) {
	some, err := r.from.Read(n)
	if err != nil {
		return nil, midMessage(err)
	}
	if len(some) == 1 {
		r.freed = some.Free
		return some[0].ReadOnlyData(), nil
	}
	r.whole = r.whole[:0]
	for _, b := range some {
		r.whole = append(r.whole, b.ReadOnlyData()...)
	}
	some.Free()
	return r.whole, nil
}

// deadline ends the stream unless it is stopped before a message of n bytes should be there.
func (r *messageReader) deadline(n int) (stop func() bool) {
	if n <= tinyMessage {
		return func() bool { return true } // it is in one piece with its header, or nearly
	}
	return time.AfterFunc(arrival(n), func() {
		r.cut(fmt.Errorf("%w: a message of %d bytes did not arrive within %v", errTooSlow, n, arrival(n)))
	}).Stop
}

// release gives back what the last message holds.
func (r *messageReader) release() {
	if r.freed != nil {
		r.freed()
		r.freed = nil
	}
}

// midMessage tells the end of a stream within a message from one between messages.
func midMessage(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the stream ended in the middle of a message", ErrRequest)
	}
	return err
}

// decode reads a message into m when there is room for what it makes. done gives the room
// back, when the message has been taken; it is never nil.
func (r *messageReader) decode(b []byte, shape *wire.Shape, m request) (done func(), err error) {
	cost, err := r.p.costOf(b, shape)
	if err != nil {
		return nothing, err
	}
	if cost > 0 {
		if err := r.p.room.decoding.Acquire(r.ctx, cost); err != nil {
			return nothing, err
		}
		done = func() { r.p.room.decoding.Release(cost) }
	} else {
		done = nothing
	}
	if lean, ok := m.(*leanRequest); ok {
		err = lean.decoder.Decode(b, &lean.AllocationRequest)
	} else {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, m)
	}
	if err != nil {
		return done, malformed(err)
	}
	return done, nil
}

func nothing() {}

func malformed(err error) error { return fmt.Errorf("%w: malformed message: %w", ErrRequest, err) }

// costOf is how much room a message needs to be decoded; 0: it is too small to count. An error
// says why it must not be decoded at all.
func (p *Proxy) costOf(b []byte, shape *wire.Shape) (cost int64, err error) {
	l := &p.opt.Limits
	// The shortest element takes two bytes.
	if worst := int64(len(b)) * wire.WorstCost; len(b) <= smallMessage && len(b)/2 <= l.MessageElements && worst <= l.DecodeBytes {
		if len(b) <= tinyMessage {
			return 0, nil
		}
		return worst, nil
	}
	size, err := sizeOf(b, shape)
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

// slotFor is a slot for reading a message field by field, which it gives up now and then; nil, for
// a message that is read in no time. A large one has millions of fields, and several that were
// read at the same time would leave no processor to decisions.
func slotFor(b []byte) *cpushare.Turn {
	if len(b) <= smallMessage {
		return nil
	}
	return cpushare.Senders.Enter()
}

// sizeOf is what there is in a message, and senderOf the rmID of its sender. Both give their slot back
// whatever becomes of it: a stream outlives a panic, and the others need the slot.
func sizeOf(b []byte, shape *wire.Shape) (wire.Size, error) {
	turn := slotFor(b)
	defer turn.Leave()
	return shape.Measure(b, turn.Yield)
}

func senderOf(b []byte, shape *wire.Shape) (rm []byte, err error) {
	turn := slotFor(b)
	defer turn.Leave()
	return shape.RM(b, turn.Yield)
}

// The shapes of what an RM sends.
var (
	requestShapes = [kinds]*wire.Shape{
		nodes:        shapeOf(&si.NodeRequest{}),
		applications: shapeOf(&si.ApplicationRequest{}),
		allocations:  shapeOf(&si.AllocationRequest{}),
	}
	registrationShape = shapeOf(&si.RegisterResourceManagerRequest{})
)

func shapeOf(m proto.Message) *wire.Shape { return wire.ShapeOf(m.ProtoReflect().Descriptor()) }
