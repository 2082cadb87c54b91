package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// overGRPC is the service over the loopback interface, with a client that costs next to
// nothing: asks are encoded before they are sent, and of answers only keys are read. If the
// server is in the same process, what the client costs counts.
type overGRPC struct {
	address string
	server  *sim.Server    // nil: it is not ours
	proxy   *rmproxy.Proxy // of server
	conn    *grpc.ClientConn
	live    context.Context // of the streams
	hangUp  context.CancelFunc
	hearing sync.WaitGroup
	ear     *ear
	stream  *stream

	nodes        si.Scheduler_UpdateNodeClient
	applications si.Scheduler_UpdateApplicationClient
	allocations  grpc.ClientStream

	encoded []byte // all asks: messages of one entry each, which behind each other are one message
	ends    []int  // where each of them ends
}

// openGRPC serves in this process.
func openGRPC(ctx context.Context, s *stream, e *ear) (door, error) {
	proxy := rmproxy.New(rmproxy.Options{Loop: loop.Options{Lifetimes: patient()}})
	server, err := sim.Serve(ctx, proxy)
	if err != nil {
		return nil, err
	}
	return (&overGRPC{address: server.Address(), server: server, proxy: proxy, ear: e, stream: s}).open(ctx)
}

// dialGRPC is a door of a server that has it already.
func dialGRPC(ctx context.Context, s *stream, e *ear, address string) (door, error) {
	return (&overGRPC{address: address, ear: e, stream: s}).open(ctx)
}

func (g *overGRPC) open(ctx context.Context) (door, error) {
	g.live, g.hangUp = context.WithCancel(context.Background())
	if err := g.connect(ctx); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, g.encode()
}

func (g *overGRPC) connect(ctx context.Context) (err error) {
	if g.conn, err = grpc.NewClient(g.address, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return err
	}
	c := si.NewSchedulerClient(g.conn)
	if _, err := c.RegisterResourceManager(ctx, registration(g.stream)); err != nil {
		return err
	}
	if g.nodes, err = c.UpdateNode(g.live); err != nil {
		return err
	}
	if g.applications, err = c.UpdateApplication(g.live); err != nil {
		return err
	}
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	g.allocations, err = g.conn.NewStream(g.live, desc, "/"+rmproxy.ServiceName+"/UpdateAllocation", grpc.ForceCodecV2(lean{}))
	if err != nil {
		return err
	}
	hear(g, "node", g.nodes.Recv, g.ear.hearNodes)
	hear(g, "application", g.applications.Recv, g.ear.hearApplications)
	next := func() (*answer, error) {
		a := new(answer)
		return a, g.allocations.RecvMsg(a)
	}
	hear(g, "allocation", next, func(a *answer) { a.tell(g.ear) })
	// A stream is known to be ours only when it has said so.
	return errors.Join(
		g.sendNode(&si.NodeRequest{RmID: rm}), g.sendApplication(&si.ApplicationRequest{RmID: rm}),
		g.sendAllocation(&si.AllocationRequest{RmID: rm}),
	)
}

// hear takes in the answers of one stream until it ends.
func hear[A any](g *overGRPC, about string, next func() (A, error), take func(A)) {
	g.hearing.Go(func() {
		for {
			a, err := next()
			if err == nil {
				take(a)
				continue
			}
			if g.live.Err() == nil {
				g.ear.lock()
				g.ear.protest("the %s stream has ended: %w", about, err)
				g.ear.unlock()
			}
			return
		}
	})
}

func (g *overGRPC) encode() error {
	for i := range g.stream.draws {
		one := &si.AllocationRequest{Allocations: []*si.Allocation{g.stream.askMessage(i)}}
		var err error
		if g.encoded, err = (proto.MarshalOptions{}).MarshalAppend(g.encoded, one); err != nil {
			return err
		}
		g.ends = append(g.ends, len(g.encoded))
	}
	return nil
}

func (g *overGRPC) sendNode(m *si.NodeRequest) error               { return g.nodes.Send(m) }
func (g *overGRPC) sendApplication(m *si.ApplicationRequest) error { return g.applications.Send(m) }

func (g *overGRPC) sendAllocation(m *si.AllocationRequest) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return g.send(mem.BufferSlice{mem.SliceBuffer(b)})
}

func (g *overGRPC) sendAsks(first, next int, ends []int) error {
	var m mem.BufferSlice
	if len(ends) > 0 {
		r := &si.AllocationReleasesRequest{}
		for _, i := range ends {
			r.AllocationsToRelease = append(r.AllocationsToRelease, g.stream.releaseMessage(i))
		}
		b, err := proto.Marshal(&si.AllocationRequest{Releases: r})
		if err != nil {
			return err
		}
		m = append(m, mem.SliceBuffer(b))
	}
	if first < next {
		from := 0
		if first > 0 {
			from = g.ends[first-1]
		}
		m = append(m, mem.SliceBuffer(g.encoded[from:g.ends[next-1]]))
	}
	return g.send(m)
}

// send says why the stream has ended, which a failed send does not.
func (g *overGRPC) send(m mem.BufferSlice) error {
	err := g.allocations.SendMsg(m)
	if errors.Is(err, io.EOF) {
		g.ear.mu.Lock()
		defer g.ear.mu.Unlock()
		return errors.Join(err, g.ear.failed)
	}
	return err
}

// check holds the books of the server against each other. Requires: it is ours.
func (g *overGRPC) check() error { return checkBooks(g.proxy.Cluster()) }

func (g *overGRPC) close() (err error) {
	g.hangUp()
	if g.conn != nil {
		err = g.conn.Close()
	}
	g.hearing.Wait()
	if g.server != nil {
		err = errors.Join(err, g.server.Close())
	}
	return err
}

// lean is a codec that sends bytes as they are and reads as little as it can.
type lean struct{}

// Name is that of the codec it replaces.
func (lean) Name() string { return "proto" }

// Marshal sends bytes as they are.
func (lean) Marshal(v any) (mem.BufferSlice, error) { return v.(mem.BufferSlice), nil }

// Unmarshal reads the keys of an AllocationResponse.
func (lean) Unmarshal(data mem.BufferSlice, v any) error {
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return v.(*answer).read(buf.ReadOnlyData())
}

// answer is an AllocationResponse, read as far as it matters.
type answer struct {
	allocated, released []int // numbers of asks
	refused             []refusal
}

type refusal struct{ key, reason string }

// The fields of the messages (behaviour.md 10.8): lists in an AllocationResponse, and keys
// in what they hold.
const (
	listNew, listReleased, listRejected    = 1, 2, 5
	keyInAllocation, keyInRelease, keyInNo = 1, 6, 1
	reasonInNo                             = 3
)

func (a *answer) read(in []byte) error {
	for len(in) > 0 {
		list, one, n := chunkOf(in)
		if n < 0 {
			return fmt.Errorf("not an answer about allocations: %w", protowire.ParseError(n))
		}
		in = in[n:]
		switch list {
		case listNew:
			a.allocated = append(a.allocated, numberOf(fieldIn(one, keyInAllocation)))
		case listReleased:
			a.released = append(a.released, numberOf(fieldIn(one, keyInRelease)))
		case listRejected:
			a.refused = append(a.refused, refusal{string(fieldIn(one, keyInNo)), string(fieldIn(one, reasonInNo))})
		}
	}
	return nil
}

func (a *answer) tell(e *ear) {
	e.lock()
	defer e.unlock()
	for _, n := range a.released {
		e.allocation(n, false)
	}
	for _, n := range a.allocated {
		e.allocation(n, true)
	}
	for _, x := range a.refused {
		e.hearRefused(x.key, x.reason)
	}
}

// fieldIn is the first value of a field, empty when it is not there.
func fieldIn(in []byte, field protowire.Number) []byte {
	for len(in) > 0 {
		at, value, n := chunkOf(in)
		if n < 0 {
			return nil
		}
		if at == field {
			return value
		}
		in = in[n:]
	}
	return nil
}

// chunkOf reads a field, and how long it is; negative: it is none. A number has no bytes.
func chunkOf(in []byte) (num protowire.Number, value []byte, n int) {
	num, typ, n := protowire.ConsumeTag(in)
	if n < 0 {
		return 0, nil, n
	}
	length := protowire.ConsumeFieldValue(num, typ, in[n:])
	if length < 0 {
		return 0, nil, length
	}
	if typ == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(in[n:])
	}
	return num, value, n + length
}
