package rmproxy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// loadClient is a client with little overhead: its messages are copies of encoded ones in which
// keys are replaced, and it reads only the keys of answers.
type loadClient struct {
	stream   grpc.ClientStream
	pool     mem.BufferPool
	size     int             // asks in a message
	asks     messageTemplate // with four tags and two resources each
	releases messageTemplate // releases of as many allocations
}

// messageTemplate is a message in which keys can be replaced.
type messageTemplate struct {
	bytes          []byte
	keyEnds        []int // where keys end, in order; each ends with its number
	keysPerElement int   // occurrences of a key
}

const (
	keyDigits = 8 // of the number in a key
	loadApps  = 10
)

// newLoadClient starts a server on the loopback interface and registers a cluster with capacity
// for so many asks. It sends size asks per message.
func newLoadClient(b *testing.B, capacity, size int) *loadClient {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(b, err)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(b, err)
	p, server := newTestProxy(testOptions{}), grpc.NewServer()
	p.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(func() {
		p.stop()
		cancel()
		assert.NilError(b, conn.Close())
		server.Stop()
		assert.NilError(b, <-served)
	})
	registerCluster(b, ctx, si.NewSchedulerClient(conn), capacity)
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	l := &loadClient{pool: mem.DefaultBufferPool(), size: size}
	l.stream, err = conn.NewStream(ctx, desc, "/"+ServiceName+"/UpdateAllocation", grpc.ForceCodecV2(keyCodec{}))
	assert.NilError(b, err)
	assert.NilError(b,
		l.stream.SendMsg(mem.BufferSlice{mem.SliceBuffer(marshalled(b, &si.AllocationRequest{RmID: "rm"}))}))
	l.encode(b)
	return l
}

// registerCluster registers, and adds applications and 1,000 nodes.
func registerCluster(b *testing.B, ctx context.Context, c si.SchedulerClient, capacity int) {
	const nodeCount = 1000
	_, err := c.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "rm", Config: queues})
	assert.NilError(b, err)
	a, err := c.UpdateApplication(ctx)
	assert.NilError(b, err)
	n, err := c.UpdateNode(ctx)
	assert.NilError(b, err)
	assert.NilError(b, a.Send(&si.ApplicationRequest{RmID: "rm"}))
	assert.NilError(b, n.Send(&si.NodeRequest{RmID: "rm"}))
	for i := range loadApps {
		app := fakerm.App(appName(i), "root.a")
		assert.NilError(b, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{app}}))
		for got := 0; got == 0; {
			m, err := a.Recv()
			assert.NilError(b, err)
			got = len(m.Accepted)
		}
	}
	all := &si.NodeRequest{}
	each := int64(capacity/nodeCount*2 + 1)
	for i := range nodeCount {
		node := fakerm.Node(fmt.Sprintf("node-%04d", i))
		node.SchedulableResource = fakerm.Resource(each*(4<<30), each*1000)
		all.Nodes = append(all.Nodes, node)
	}
	assert.NilError(b, n.Send(all))
	for got := 0; got < nodeCount; {
		m, err := n.Recv()
		assert.NilError(b, err)
		got += len(m.Accepted)
	}
}

func appName(i int) string { return fmt.Sprintf("spark-%08d-application", i) }

func keyOf(n int) string { return fmt.Sprintf("5b0c4f5e-9d3a-2f6f-3c9e-%0*d", keyDigits, n) }

// encode makes the templates. The key of an ask is also in its pod name.
func (l *loadClient) encode(b *testing.B) {
	l.asks, l.releases = messageTemplate{keysPerElement: 2}, messageTemplate{keysPerElement: 1}
	for i := range l.size {
		key, app := keyOf(i), appName(i%loadApps)
		l.asks.add(key, marshalled(b, &si.AllocationRequest{Allocations: []*si.Allocation{{
			AllocationKey: key, ApplicationID: app, PartitionName: "[rm]default",
			ResourcePerAlloc: fakerm.Resource(4<<30, 1000), TaskGroupName: "executors",
			AllocationTags: map[string]string{
				"kubernetes.io/meta/podName": "executor-" + key, "kubernetes.io/meta/namespace": "analytics",
				"creationTime": "1700000000", "kubernetes.io/label/app": "spark",
			},
		}}}))
		l.releases.add(key, marshalled(b, &si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{
				AllocationKey: key, ApplicationID: app, PartitionName: "[rm]default",
				TerminationType: si.TerminationType_STOPPED_BY_RM,
			}},
		}}))
	}
	assert.Equal(b, len(l.asks.keyEnds), 2*l.size)
	assert.Equal(b, len(l.releases.keyEnds), l.size)
}

func (s *messageTemplate) add(key string, one []byte) {
	for at := bytes.Index(one, []byte(key)); at >= 0; {
		s.keyEnds = append(s.keyEnds, len(s.bytes)+at+len(key))
		next := bytes.Index(one[at+1:], []byte(key))
		if next < 0 {
			break
		}
		at += 1 + next
	}
	s.bytes = append(s.bytes, one...)
}

// with is a copy of the template with the keys first, first+1, ...
func (s *messageTemplate) with(first int, pool mem.BufferPool) mem.BufferSlice {
	buf := pool.Get(len(s.bytes))
	copy(*buf, s.bytes)
	for i, end := range s.keyEnds {
		number := first + i/s.keysPerElement
		for at := end - 1; at >= end-keyDigits; at-- {
			(*buf)[at] = byte('0' + number%10)
			number /= 10
		}
	}
	return mem.BufferSlice{mem.NewBuffer(buf, pool)}
}

// ask sends a message of size asks, numbered from first.
func (l *loadClient) ask(first int) error { return l.stream.SendMsg(l.asks.with(first, l.pool)) }

// release sends a message that releases as many.
func (l *loadClient) release(first int) error {
	return l.stream.SendMsg(l.releases.with(first, l.pool))
}

// receive reads one answer and calls answer for each allocation, made or released.
func (l *loadClient) receive(answer func(number int, made bool)) error {
	return l.stream.RecvMsg(&allocationKeys{answer})
}

type allocationKeys struct{ answer func(number int, made bool) }

// keyCodec is a codec that sends bytes as they are, and decodes only the keys of answers.
type keyCodec struct{}

func (keyCodec) Name() string { return "proto" }

func (keyCodec) Marshal(v any) (mem.BufferSlice, error) { return v.(mem.BufferSlice), nil }

func (keyCodec) Unmarshal(data mem.BufferSlice, v any) error {
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	for in := buf.ReadOnlyData(); len(in) > 0; {
		list, one, n := consumeField(in)
		field := protowire.Number(1) // of the key, in an allocation
		if list == 2 {
			field = 6 // in a release
		}
		in = in[n:]
		for {
			if len(one) == 0 || n < 0 || list > 2 {
				return fmt.Errorf("not an allocation, and not a release: field %d", list)
			}
			at, value, n := consumeField(one)
			if at == field {
				v.(*allocationKeys).answer(numberOf(value), list == 1)
				break
			}
			one = one[n:]
		}
	}
	return nil
}

// consumeField reads a field and its length. A number has no bytes.
func consumeField(in []byte) (num protowire.Number, value []byte, n int) {
	num, typ, n := protowire.ConsumeTag(in)
	if typ == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(in[n:])
	}
	return num, value, n + protowire.ConsumeFieldValue(num, typ, in[n:])
}

func numberOf(key []byte) (n int) {
	for _, d := range key[len(key)-keyDigits:] {
		n = n*10 + int(d-'0')
	}
	return n
}

// cpu is the CPU time of this process.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	assert.NilError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
