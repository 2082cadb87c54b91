package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// wantUnavailable checks the status of a call that its member cannot answer.
func wantUnavailable(t *testing.T, err error, trailer metadata.MD, leader string, texts ...string) {
	t.Helper()
	assert.Equal(t, status.Code(err), codes.Unavailable, "%v", err)
	for _, text := range append(texts, `partition "default"`) {
		assert.Assert(t, is.Contains(status.Convert(err).Message(), text))
	}
	var want []string
	if leader != "" {
		want = []string{leader}
	}
	assert.DeepEqual(t, trailer.Get("canopy-leader"), want)
}

func TestGRPC_SchedulerDiesInTheMiddle(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: echoNodes, applications: func(s si.Scheduler_UpdateApplicationServer) error {
			<-s.Context().Done()
			return s.Context().Err()
		}})
		ctx := forPartition(bounded(t), "default")
		stream, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		silent, err := c.client.UpdateApplication(ctx) // without headers so far
		assert.NilError(t, err)
		assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "a"}))
		_, err = stream.Recv()
		assert.NilError(t, err)
		c.at.cut()
		member := "member " + self
		if where != inProcess {
			member = "the member at " + c.route.Address
		}
		_, err = stream.Recv()
		wantUnavailable(t, err, stream.Trailer(), c.route.Address, member, "was lost")
		_, err = silent.Recv()
		wantUnavailable(t, err, silent.Trailer(), c.route.Address, member)

		again, err := c.client.UpdateNode(ctx) // on a new connection
		assert.NilError(t, err)
		assert.NilError(t, again.Send(&si.NodeRequest{RmID: "a"}))
		_, err = again.Recv()
		assert.NilError(t, err)
	})
}

// A client that goes on sending gets the end of its call all the same.
func TestGRPC_AnswerEndsTheRequest(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: func(s si.Scheduler_UpdateNodeServer) error { return status.Error(codes.Aborted, "enough") }})
		for range 10 {
			stream, err := c.client.UpdateNode(forPartition(bounded(t), "default"))
			assert.NilError(t, err)
			for err == nil {
				err = stream.Send(&si.NodeRequest{RmID: strings.Repeat("x", 1000)})
			}
			_, err = stream.Recv()
			assert.Equal(t, status.Code(err), codes.Aborted, "%v", err)
		}
	})
}

func TestGRPC_NotSent(t *testing.T) {
	c := newChain(t, remote, &fake{nodes: echoNodes})
	dead := newTCPListener(t)
	assert.NilError(t, dead.Close())
	call := func(ctx context.Context) (metadata.MD, error) {
		stream, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		_, err = stream.Recv()
		return stream.Trailer(), err
	}
	ctx := forPartition(bounded(t), "default")

	trailer, err := call(metadata.AppendToOutgoingContext(ctx, "canopy-forwarded", "m2"))
	wantUnavailable(t, err, trailer, c.route.Address, "member "+self, `"m2"`)
	assert.Equal(t, c.at.accepted(), 0)

	c.route = Route{}
	trailer, err = call(ctx)
	wantUnavailable(t, err, trailer, "", "member "+self, "does not know")

	c.route = Route{Address: dead.Addr().String()}
	trailer, err = call(ctx)
	wantUnavailable(t, err, trailer, c.route.Address, "the member at "+c.route.Address, "cannot be reached")

	c.route = Route{Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("the term is over") }, Epoch: 3}
	trailer, err = call(metadata.AppendToOutgoingContext(ctx, "canopy-forwarded", "m2"))
	wantUnavailable(t, err, trailer, "", "member "+self, "the term is over")

	_, err = call(forPartition(bounded(t), "none"))
	assert.Equal(t, status.Code(err), codes.NotFound)
	assert.ErrorContains(t, err, `there is no partition "none", but: default`)

	_, err = call(forPartition(ctx, "default"))
	assert.Equal(t, status.Code(err), codes.InvalidArgument)

	c.forwarder.Close()
	c.route = Route{Address: c.at.Addr().String()}
	_, err = call(ctx)
	wantUnavailable(t, err, nil, "", "ends")
}

// Two members of which each takes the other for the leader.
func TestGRPC_NoLoop(t *testing.T) {
	var first, second string
	var passed atomic.Int32
	to := func(address *string) Options {
		return Options{Self: self, Routes: routesFunc(func(partition string) (Route, error) {
			passed.Add(1)
			return Route{Partition: partition, Address: *address}, nil
		})}
	}
	first = serveCalls(t, New(to(&second)), nil)
	second = serveCalls(t, New(to(&first)), nil)
	stream, err := si.NewSchedulerClient(newClient(t, first, nil)).UpdateNode(forPartition(bounded(t), "default"))
	assert.NilError(t, err)
	_, err = stream.Recv()
	wantUnavailable(t, err, stream.Trailer(), first, "does not lead it")
	assert.Equal(t, passed.Load(), int32(2))
}

func TestGRPC_CloseEndsCalls(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: echoNodes})
		stream, err := c.client.UpdateNode(forPartition(bounded(t), "default"))
		assert.NilError(t, err)
		assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "a"}))
		_, err = stream.Recv()
		assert.NilError(t, err)
		c.forwarder.Close()
		_, err = stream.Recv()
		wantUnavailable(t, err, stream.Trailer(), c.route.Address, "member "+self+" ends")
	})
}

// A later term of this process is another server: connections to the one before are not used any more.
func TestGRPC_LaterTermHasNewConnections(t *testing.T) {
	c := newChain(t, inProcess, &fake{nodes: echoNodes})
	call := func() {
		t.Helper()
		stream, err := c.client.UpdateNode(forPartition(bounded(t), "default"))
		assert.NilError(t, err)
		assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "a"}))
		_, err = stream.Recv()
		assert.NilError(t, err)
	}
	call()
	call()
	assert.Equal(t, c.at.accepted(), 1)
	c.route.Epoch = 2
	call()
	assert.Equal(t, c.at.accepted(), 2)
	c.route.Epoch = 1 // what an earlier request knew
	call()
	assert.Equal(t, c.at.accepted(), 2)
}

// What a client does not read is stopped at the scheduler, and streams beside it go on.
func TestGRPC_SlowReaderStopsTheScheduler(t *testing.T) {
	const messages, size, slow, rounds = 1024, 64 << 10, 8, 3000
	inAllPlaces(t, func(t *testing.T, where place) {
		var sent [slow]atomic.Int64
		var began atomic.Int32
		text := strings.Repeat("x", size)
		c := newChain(t, where, &fake{nodes: echoNodes, applications: func(s si.Scheduler_UpdateApplicationServer) error {
			n := &sent[began.Add(1)-1]
			for range messages {
				if err := s.Send(&si.ApplicationResponse{Accepted: []*si.AcceptedApplication{{ApplicationID: text}}}); err != nil {
					return err
				}
				n.Add(size)
			}
			return nil
		}})
		ctx := forPartition(bounded(t), "default")
		var unread []si.Scheduler_UpdateApplicationClient
		for range slow {
			stream, err := c.client.UpdateApplication(ctx)
			assert.NilError(t, err)
			_, err = stream.Recv()
			assert.NilError(t, err)
			unread = append(unread, stream)
		}
		other, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		for range rounds { // time enough for all messages of the others
			assert.NilError(t, other.Send(&si.NodeRequest{RmID: "a"}))
			_, err := other.Recv()
			assert.NilError(t, err)
		}
		for i := range sent {
			assert.Assert(t, sent[i].Load() < 4<<20, "%d bytes were taken", sent[i].Load())
		}
		for range messages - 1 {
			r, err := unread[0].Recv()
			assert.NilError(t, err)
			assert.Assert(t, r.Accepted[0].ApplicationID == text)
		}
		_, err = unread[0].Recv()
		assert.Equal(t, err.Error(), "EOF")
	})
}

// What the scheduler does not read is stopped at the client, and streams beside it go on.
func TestGRPC_SlowSchedulerStopsTheClient(t *testing.T) {
	const size, slow, rounds = 64 << 10, 8, 1000
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: echoNodes, applications: func(s si.Scheduler_UpdateApplicationServer) error {
			<-s.Context().Done()
			return s.Context().Err()
		}})
		ctx, cancel := context.WithCancel(forPartition(bounded(t), "default"))
		defer cancel()
		var sending sync.WaitGroup
		var sent atomic.Int64
		for range slow {
			stream, err := c.client.UpdateApplication(ctx)
			assert.NilError(t, err)
			sending.Go(func() {
				for stream.Send(&si.ApplicationRequest{RmID: strings.Repeat("x", size)}) == nil {
					sent.Add(size)
				}
			})
		}
		other, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		for range rounds {
			assert.NilError(t, other.Send(&si.NodeRequest{RmID: "a"}))
			_, err := other.Recv()
			assert.NilError(t, err)
		}
		assert.Assert(t, sent.Load() < slow*4<<20, "%d bytes were taken", sent.Load())
		cancel()
		sending.Wait()
	})
}

func TestGRPC_OnlyCallsAreForwarded(t *testing.T) {
	c := newChain(t, inProcess, &fake{nodes: echoNodes})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	for contentType, want := range map[string]int{
		"": 415, "text/plain": 415, "application/grpc-web": 415, "application/json": 415,
		"application/grpc": 200, "application/grpc+proto": 200, "application/grpc;x=y": 200,
	} {
		r, err := http.NewRequestWithContext(bounded(t), http.MethodPost, "http://"+c.conn.Target()+"/si.v1.Scheduler/UpdateNode", http.NoBody)
		assert.NilError(t, err)
		r.Header.Set("Content-Type", contentType)
		res, err := transport.RoundTrip(r)
		assert.NilError(t, err)
		assert.NilError(t, res.Body.Close())
		assert.Equal(t, res.StatusCode, want, contentType)
	}
}

// healthy answers health checks of the member itself.
type healthy struct {
	healthpb.UnimplementedHealthServer
}

func (healthy) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func TestGRPC_HealthOfTheMemberItself(t *testing.T) {
	own := grpc.NewServer()
	healthpb.RegisterHealthServer(own, healthy{})
	defer own.Stop()
	c := newChain(t, inProcess, &fake{}, func(o *Options) {
		o.Local, o.IsLocal = own, func(path string) bool { return strings.HasPrefix(path, "/grpc.health.v1.Health/") }
	})
	client := healthpb.NewHealthClient(c.conn)
	r, err := client.Check(bounded(t), &healthpb.HealthCheckRequest{})
	assert.NilError(t, err)
	assert.Equal(t, r.Status, healthpb.HealthCheckResponse_SERVING)
	_, err = client.Check(forPartition(bounded(t), "default"), &healthpb.HealthCheckRequest{})
	assert.Equal(t, status.Code(err), codes.Unimplemented) // by the scheduler, which has no health service
}
