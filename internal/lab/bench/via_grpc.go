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

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// grpcClient uses the service over the loopback interface at low cost: asks are encoded in advance, and
// only the keys of answers are read. If the server is in the same process, the cost of the client is
// included.
type grpcClient struct {
	address   string
	server    *sim.Server // nil: the server is another process
	conn      *grpc.ClientConn
	streamCtx context.Context // of the streams
	cancel    context.CancelFunc
	receivers sync.WaitGroup
	recorder  *recorder
	stream    *stream

	nodes        si.Scheduler_UpdateNodeClient
	applications si.Scheduler_UpdateApplicationClient
	allocations  grpc.ClientStream

	encoded []byte // all asks: messages of one entry each, whose concatenation is one message
	ends    []int  // the end of each
}

// openGRPC serves in this process.
func openGRPC(ctx context.Context, s *stream, rec *recorder) (apiClient, error) {
	server, err := sim.Serve(ctx, sim.ServerOptions{Loop: loop.Options{Lifetimes: neverCompleting()}})
	if err != nil {
		return nil, err
	}
	return (&grpcClient{address: server.Address(), server: server, recorder: rec, stream: s}).open(ctx)
}

// dialGRPC returns a client of a running server.
func dialGRPC(ctx context.Context, s *stream, rec *recorder, address string) (apiClient, error) {
	return (&grpcClient{address: address, recorder: rec, stream: s}).open(ctx)
}

func (g *grpcClient) open(ctx context.Context) (apiClient, error) {
	g.streamCtx, g.cancel = context.WithCancel(context.Background())
	if err := g.connect(ctx); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, g.encode()
}

func (g *grpcClient) connect(ctx context.Context) (err error) {
	if g.conn, err = grpc.NewClient(g.address, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return err
	}
	c := si.NewSchedulerClient(g.conn)
	if _, err := c.RegisterResourceManager(ctx, registration(g.stream)); err != nil {
		return err
	}
	if g.nodes, err = c.UpdateNode(g.streamCtx); err != nil {
		return err
	}
	if g.applications, err = c.UpdateApplication(g.streamCtx); err != nil {
		return err
	}
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	g.allocations, err = g.conn.NewStream(g.streamCtx, desc, "/"+rmproxy.ServiceName+"/UpdateAllocation",
		grpc.ForceCodecV2(keyCodec{}))
	if err != nil {
		return err
	}
	receive(g, "node", g.nodes.Recv, g.recorder.onNodes)
	receive(g, "application", g.applications.Recv, g.recorder.onApplications)
	next := func() (*keyAnswer, error) {
		a := new(keyAnswer)
		return a, g.allocations.RecvMsg(a)
	}
	receive(g, "allocation", next, func(a *keyAnswer) { a.report(g.recorder) })
	// A stream is attributed to the resource manager when its first message has arrived.
	return errors.Join(
		g.sendNode(&si.NodeRequest{RmID: rmID}), g.sendApplication(&si.ApplicationRequest{RmID: rmID}),
		g.sendAllocation(&si.AllocationRequest{RmID: rmID}),
	)
}

// receive processes the answers of one stream until it ends.
func receive[A any](g *grpcClient, about string, next func() (A, error), take func(A)) {
	g.receivers.Go(func() {
		for {
			a, err := next()
			if err == nil {
				take(a)
				continue
			}
			if g.streamCtx.Err() == nil {
				g.recorder.lock()
				g.recorder.fail("the %s stream has ended: %w", about, err)
				g.recorder.unlock()
			}
			return
		}
	})
}

func (g *grpcClient) encode() error {
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

func (g *grpcClient) sendNode(m *si.NodeRequest) error               { return g.nodes.Send(m) }
func (g *grpcClient) sendApplication(m *si.ApplicationRequest) error { return g.applications.Send(m) }

func (g *grpcClient) sendAllocation(m *si.AllocationRequest) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return g.send(mem.BufferSlice{mem.SliceBuffer(b)})
}

func (g *grpcClient) sendAsks(first, next int, ends []int) error {
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

// send returns the reason why the stream has ended, which a failed send does not.
func (g *grpcClient) send(m mem.BufferSlice) error {
	err := g.allocations.SendMsg(m)
	if errors.Is(err, io.EOF) {
		g.recorder.mu.Lock()
		defer g.recorder.mu.Unlock()
		return errors.Join(err, g.recorder.failed)
	}
	return err
}

// check audits the accounting of the server, which must be in this process.
func (g *grpcClient) check() error { return checkAccounting(g.server.Cluster()) }

func (g *grpcClient) close() (err error) {
	g.cancel()
	if g.conn != nil {
		err = g.conn.Close()
	}
	g.receivers.Wait()
	if g.server != nil {
		err = errors.Join(err, g.server.Close())
	}
	return err
}

// keyCodec sends bytes unchanged and decodes only keys.
type keyCodec struct{}

// Name returns the name of the codec that it replaces.
func (keyCodec) Name() string { return "proto" }

// Marshal sends bytes unchanged.
func (keyCodec) Marshal(v any) (mem.BufferSlice, error) { return v.(mem.BufferSlice), nil }

// Unmarshal reads the keys of an AllocationResponse.
func (keyCodec) Unmarshal(data mem.BufferSlice, v any) error {
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return v.(*keyAnswer).read(buf.ReadOnlyData())
}

// keyAnswer are the keys of an AllocationResponse.
type keyAnswer struct {
	allocated, released []int // numbers of asks
	rejected            []rejection
}

type rejection struct{ key, reason string }

// Field numbers of si.proto: lists of an AllocationResponse, and keys of their entries.
const (
	listNew, listReleased, listRejected           = 1, 2, 5
	keyInAllocation, keyInRelease, keyInRejection = 1, 6, 1
	reasonInRejection                             = 3
)

func (a *keyAnswer) read(in []byte) error {
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
			a.rejected = append(a.rejected,
				rejection{string(fieldIn(one, keyInRejection)), string(fieldIn(one, reasonInRejection))})
		}
	}
	return nil
}

func (a *keyAnswer) report(rec *recorder) {
	rec.lock()
	defer rec.unlock()
	for _, n := range a.released {
		rec.record(n, false)
	}
	for _, n := range a.allocated {
		rec.record(n, true)
	}
	for _, x := range a.rejected {
		rec.onRejected(x.key, x.reason)
	}
}

// fieldIn returns the first value of a field; empty if it is missing.
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

// consumeField reads a field, and how long it is; negative: it is none. A number has no bytes.
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
