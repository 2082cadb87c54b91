package rmproxy

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queues is the configuration of most tests.
const queues = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
          - name: b
`

// twoPartitions has a second partition.
const twoPartitions = queues + `
  - name: gpu
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
`

// rig is a running server and a connected client.
type rig struct {
	t      *testing.T
	p      *Proxy
	logs   *observer.ObservedLogs
	conn   *grpc.ClientConn
	client si.SchedulerClient
	ctx    context.Context // ends when the test takes too long
}

func newRig(t *testing.T, opt testOptions) *rig {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(t, err)
	return rigOn(t, opt, listener, conn)
}

// newBubbleRig is newRig without a network, for a bubble of package synctest.
func newBubbleRig(t *testing.T, opt testOptions) *rig {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	conn, err := grpc.NewClient("passthrough:///bubble", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	assert.NilError(t, err)
	return rigOn(t, opt, listener, conn)
}

func rigOn(t *testing.T, opt testOptions, listener net.Listener, conn *grpc.ClientConn) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	opt.Log = zap.New(core)
	r := &rig{t: t, p: newTestProxy(opt), logs: logs, conn: conn, client: si.NewSchedulerClient(conn)}
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(context.Background(), 30*time.Second)
	server := grpc.NewServer(r.p.ServerOptions()...)
	r.p.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		r.check()
		r.p.stop()
		cancel()
		assert.NilError(t, conn.Close())
		server.Stop()
		if err := <-served; !errors.Is(err, grpc.ErrServerStopped) { // it may be stopped before it serves
			assert.NilError(t, err)
		}
	})
	return r
}

// check recounts the accounting of all partitions.
func (r *rig) check() {
	r.t.Helper()
	for _, name := range r.p.Cluster().Partitions() {
		l, ok := r.p.Cluster().Partition(name)
		assert.Assert(r.t, ok)
		if err := l.Check(context.Background()); !errors.Is(err, loop.ErrEnded) {
			assert.NilError(r.t, err, "partition %s", name)
		}
	}
}

func (r *rig) register(rm, config string) error {
	_, err := r.client.RegisterResourceManager(r.ctx, &si.RegisterResourceManagerRequest{RmID: rm, Config: config})
	return err
}

// newRegisteredRig returns a rig with the RM "rm" registered with the queues above.
func newRegisteredRig(t *testing.T, opt testOptions) *rig {
	t.Helper()
	r := newRig(t, opt)
	assert.NilError(t, r.register("rm", queues))
	return r
}

func (r *rig) openNodeStream() si.Scheduler_UpdateNodeClient {
	r.t.Helper()
	s, err := r.client.UpdateNode(r.ctx)
	assert.NilError(r.t, err)
	assert.NilError(r.t, s.Send(&si.NodeRequest{RmID: "rm"}))
	return s
}

func (r *rig) openApplicationStream() si.Scheduler_UpdateApplicationClient {
	r.t.Helper()
	s, err := r.client.UpdateApplication(r.ctx)
	assert.NilError(r.t, err)
	assert.NilError(r.t, s.Send(&si.ApplicationRequest{RmID: "rm"}))
	return s
}

func (r *rig) openAllocationStream() si.Scheduler_UpdateAllocationClient {
	r.t.Helper()
	s, err := r.client.UpdateAllocation(r.ctx)
	assert.NilError(r.t, err)
	assert.NilError(r.t, s.Send(&si.AllocationRequest{RmID: "rm"}))
	return s
}

// receiver is the client side of any stream.
type receiver[M proto.Message] interface{ Recv() (M, error) }

// receive collects n answers, however they are batched: list returns those of a message.
func receive[M proto.Message, A any](t *testing.T, s receiver[M], n int, list func(M) []A) []A {
	t.Helper()
	var got []A
	for len(got) < n {
		m, err := s.Recv()
		assert.NilError(t, err, "after %d of %d answers: %v", len(got), n, got)
		got = append(got, list(m)...)
	}
	assert.Equal(t, len(got), n)
	return got
}

// assertStreamFails reads until the stream ends, and checks the status.
func assertStreamFails[M proto.Message](t *testing.T, s receiver[M], code codes.Code, text string) {
	t.Helper()
	for {
		if _, err := s.Recv(); err != nil {
			assert.Equal(t, status.Code(err), code, "%v", err)
			assert.ErrorContains(t, err, text)
			return
		}
	}
}

// withNodeAndApp registers node n1 and application app in root.a, and drains the answers.
func (r *rig) withNodeAndApp() {
	r.t.Helper()
	n, a := r.openNodeStream(), r.openApplicationStream()
	assert.NilError(r.t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
	receive(r.t, n, 1, (*si.NodeResponse).GetAccepted)
	assert.NilError(r.t, a.Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")}}))
	receive(r.t, a, 1, (*si.ApplicationResponse).GetAccepted)
}
