package rmproxy

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/wire"
)

// messageReader receives the messages of one stream. It is not safe for concurrent use.
type messageReader struct {
	p         *Proxy
	ctx       context.Context
	stream    grpc.ServerStream
	onRelease func() // releases what the current message holds; nil: nothing
}

// receive waits for the next message and returns it in its wire form; a large one waits for memory of budget
// (RMI-39). The bytes are valid until release. io.EOF: there is no further message.
func (r *messageReader) receive(budget *semaphore.Weighted) ([]byte, error) {
	r.release()
	var message mem.BufferSlice
	if err := r.stream.RecvMsg(&message); err != nil {
		return nil, err
	}
	defer message.Free()
	var weight int64
	if n := message.Len(); n > smallMessage {
		weight = int64(min(n, r.p.opt.Limits.MessageBytes)) // a registration may be longer
		if err := budget.Acquire(r.ctx, weight); err != nil {
			return nil, err
		}
	}
	buffer := message.MaterializeToBuffer(mem.DefaultBufferPool())
	r.onRelease = func() {
		buffer.Free()
		budget.Release(weight)
	}
	return buffer.ReadOnlyData(), nil
}

// maxReceivedBytes returns the maximum length of a message that is received, whatever its kind. A registration that is
// a little longer than it may be is received, and refused with a reason.
func (p *Proxy) maxReceivedBytes() int {
	return max(p.opt.Limits.MessageBytes, p.maxRegistrationBytes()+smallMessage)
}

// release releases what the last message holds.
func (r *messageReader) release() {
	if r.onRelease != nil {
		r.onRelease()
		r.onRelease = nil
	}
}

// acquireDecoding waits for the memory that decoding a message takes (RMI-38). An error means that the message must
// not be decoded. The caller must call done when the message has been handled; done is never nil.
func (r *messageReader) acquireDecoding(b []byte, shape *wire.Shape) (done func(), err error) {
	cost, err := r.p.decodeCost(b, shape)
	if err != nil || cost == 0 {
		return noop, err
	}
	if err := r.p.memory.decoding.Acquire(r.ctx, cost); err != nil {
		return noop, err
	}
	return func() { r.p.memory.decoding.Release(cost) }, nil
}

func noop() {}

// malformed marks an error of decoding as one of the sender (RMI-29); nil stays nil.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: malformed message: %w", ErrRequest, err)
}

// unmarshal decodes a message with the generated code.
func unmarshal(b []byte, m proto.Message) error {
	return proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, m)
}

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
	rm, err = shape.RM(b, slot.Yield)
	return rm, malformed(err)
}

// registrationShape is the shape of a registration, which is the same in all versions of the interface.
var registrationShape = shapeOf(&si.RegisterResourceManagerRequest{})

func shapeOf(m proto.Message) *wire.Shape { return wire.ShapeOf(m.ProtoReflect().Descriptor()) }
