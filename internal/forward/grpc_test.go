package forward

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
)

// received are the metadata that a scheduler gets and that have something to say here.
func received(ctx context.Context) metadata.MD {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, name := range []string{":authority", "content-type", "user-agent", "grpc-accept-encoding"} {
		delete(md, name)
	}
	return md
}

var (
	sentHeader  = metadata.MD{"canopy-epoch": {"7"}, "h-bin": {"\x00\xff", "second"}, "both": {"in the header"}}
	sentTrailer = metadata.MD{"t": {"a", "b"}, "t-bin": {"\x01\xfe"}, "both": {"in the trailer"}}
)

func TestGRPC_MetadataAndTrailersArePassedOn(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		var got metadata.MD
		c := newChain(t, where, &fake{
			register: func(ctx context.Context, r *si.RegisterResourceManagerRequest) (*si.RegisterResourceManagerResponse, error) {
				got = received(ctx)
				assert.Check(t, r.RmID == "rm")
				_ = grpc.SetHeader(ctx, sentHeader)
				_ = grpc.SetTrailer(ctx, sentTrailer)
				return &si.RegisterResourceManagerResponse{}, nil
			},
		})
		sent := metadata.MD{
			"canopy-partition": {"default"}, "authorization": {"Bearer x"}, "a-bin": {"\x00\x01\xff", ""}, "many": {"1", "2"}, "x-forwarded-for": {"10.0.0.1"},
		}
		var header, trailer metadata.MD
		_, err := c.client.RegisterResourceManager(metadata.NewOutgoingContext(bounded(t), sent), &si.RegisterResourceManagerRequest{RmID: "rm"},
			grpc.Header(&header), grpc.Trailer(&trailer))
		assert.NilError(t, err)
		want := metadata.Join(sent)
		if where != inProcess {
			want["canopy-forwarded"] = []string{self}
		}
		assert.DeepEqual(t, got, want)
		delete(header, "content-type")
		assert.DeepEqual(t, header, sentHeader)
		assert.DeepEqual(t, trailer, sentTrailer)
	})
}

// The three streams of a resource manager, at the same time and independent of each other.
func TestGRPC_StreamsRunInBothDirections(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{
			nodes: func(s si.Scheduler_UpdateNodeServer) error {
				_ = s.SendHeader(sentHeader)
				s.SetTrailer(sentTrailer)
				return echoNodes(s)
			},
			applications: func(s si.Scheduler_UpdateApplicationServer) error {
				for {
					r, err := s.Recv()
					if err != nil {
						return endOf(err)
					}
					_ = s.Send(&si.ApplicationResponse{Accepted: []*si.AcceptedApplication{{ApplicationID: r.RmID}}})
				}
			},
			allocations: func(s si.Scheduler_UpdateAllocationServer) error {
				for {
					r, err := s.Recv()
					if err != nil {
						return endOf(err)
					}
					_ = s.Send(&si.AllocationResponse{New: []*si.Allocation{{AllocationKey: r.RmID}}})
				}
			},
		})
		ctx := forPartition(bounded(t), "default")
		nodes, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		applications, err := c.client.UpdateApplication(ctx)
		assert.NilError(t, err)
		allocations, err := c.client.UpdateAllocation(ctx)
		assert.NilError(t, err)
		header, err := nodes.Header() // before any message
		assert.NilError(t, err)
		delete(header, "content-type")
		assert.DeepEqual(t, header, sentHeader)
		for _, id := range []string{"a", strings.Repeat("b", 100_000), ""} {
			assert.NilError(t, nodes.Send(&si.NodeRequest{RmID: id}))
			assert.NilError(t, applications.Send(&si.ApplicationRequest{RmID: id}))
			assert.NilError(t, allocations.Send(&si.AllocationRequest{RmID: id}))
			al, err := allocations.Recv()
			assert.NilError(t, err)
			assert.Equal(t, al.New[0].AllocationKey, id)
			ap, err := applications.Recv()
			assert.NilError(t, err)
			assert.Equal(t, ap.Accepted[0].ApplicationID, id)
			n, err := nodes.Recv()
			assert.NilError(t, err)
			assert.Equal(t, n.Accepted[0].NodeID, id)
		}
		assert.NilError(t, nodes.CloseSend())
		_, err = nodes.Recv()
		assert.ErrorIs(t, err, io.EOF)
		assert.DeepEqual(t, nodes.Trailer(), sentTrailer)
		assert.NilError(t, applications.Send(&si.ApplicationRequest{RmID: "goes on"}))
		_, err = applications.Recv()
		assert.NilError(t, err)
	})
}

func TestGRPC_ErrorsHaveTheirDetails(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		refused, err := status.New(codes.FailedPrecondition, "100 % wrong: ü\n").WithDetails(&si.AcceptedNode{NodeID: "detail"})
		assert.NilError(t, err)
		c := newChain(t, where, &fake{
			register: func(ctx context.Context, _ *si.RegisterResourceManagerRequest) (*si.RegisterResourceManagerResponse, error) {
				_ = grpc.SetTrailer(ctx, sentTrailer)
				return nil, refused.Err()
			},
			nodes: func(s si.Scheduler_UpdateNodeServer) error { // ends while the client may go on sending
				s.SetTrailer(sentTrailer)
				if _, err := s.Recv(); err != nil {
					return err
				}
				if err := s.Send(nodeAnswer("last")); err != nil {
					return err
				}
				return refused.Err()
			},
			applications: func(si.Scheduler_UpdateApplicationServer) error { return refused.Err() }, // before any message
		})
		check := func(err error) {
			t.Helper()
			got := status.Convert(err)
			assert.Equal(t, got.Code(), codes.FailedPrecondition)
			assert.Equal(t, got.Message(), "100 % wrong: ü\n")
			assert.Equal(t, got.Details()[0].(*si.AcceptedNode).NodeID, "detail")
		}
		ctx := forPartition(bounded(t), "default")
		var header, trailer metadata.MD
		_, err = c.client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
		check(err)
		delete(trailer, "content-type") // all is in one frame
		delete(trailer, "grpc-status-details-bin")
		assert.DeepEqual(t, trailer, sentTrailer)
		assert.Assert(t, len(header) == 0, "%v", header)

		stream, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		assert.NilError(t, stream.Send(&si.NodeRequest{}))
		_, err = stream.Recv()
		assert.NilError(t, err)
		_, err = stream.Recv() // the client has not ended its part
		check(err)
		trailer = stream.Trailer()
		delete(trailer, "grpc-status-details-bin")
		assert.DeepEqual(t, trailer, sentTrailer)

		early, err := c.client.UpdateApplication(ctx)
		assert.NilError(t, err)
		_, err = early.Recv()
		check(err)
	})
}

func TestGRPC_HalfCloseReachesTheScheduler(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: func(s si.Scheduler_UpdateNodeServer) error {
			n := 0
			for {
				if _, err := s.Recv(); err == io.EOF {
					break
				} else if err != nil {
					return err
				}
				n++
			}
			for range n {
				if err := s.Send(nodeAnswer("after the end")); err != nil {
					return err
				}
			}
			return nil
		}})
		stream, err := c.client.UpdateNode(forPartition(bounded(t), "default"))
		assert.NilError(t, err)
		for range 3 {
			assert.NilError(t, stream.Send(&si.NodeRequest{}))
		}
		assert.NilError(t, stream.CloseSend())
		for range 3 {
			_, err := stream.Recv()
			assert.NilError(t, err)
		}
		_, err = stream.Recv()
		assert.ErrorIs(t, err, io.EOF)
	})
}

func TestGRPC_CancellationAndDeadlineReachTheScheduler(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		began, ended := make(chan bool), make(chan error)
		c := newChain(t, where, &fake{nodes: func(s si.Scheduler_UpdateNodeServer) error {
			_, hasDeadline := s.Context().Deadline()
			began <- hasDeadline
			<-s.Context().Done()
			ended <- s.Context().Err()
			return s.Context().Err()
		}})
		for range 20 { // each is a reset of a stream on the same connection, which goes on
			ctx, cancel := context.WithCancel(forPartition(bounded(t), "default"))
			stream, err := c.client.UpdateNode(ctx)
			assert.NilError(t, err)
			assert.Equal(t, <-began, false)
			cancel()
			assert.ErrorIs(t, <-ended, context.Canceled)
			_, err = stream.Recv()
			assert.Equal(t, status.Code(err), codes.Canceled)
		}
		assert.Equal(t, c.at.accepted(), 1)

		ctx, cancel := context.WithTimeout(forPartition(bounded(t), "default"), time.Second)
		defer cancel()
		stream, err := c.client.UpdateNode(ctx)
		assert.NilError(t, err)
		assert.Equal(t, <-began, true)
		assert.Assert(t, <-ended != nil)
		_, err = stream.Recv()
		assert.Equal(t, status.Code(err), codes.DeadlineExceeded)
	})
}

func TestGRPC_LargeMessages(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: echoNodes})
		stream, err := c.client.UpdateNode(forPartition(bounded(t), "default"))
		assert.NilError(t, err)
		id := strings.Repeat("0123456789abcdef", 20<<20/16)
		assert.NilError(t, stream.Send(&si.NodeRequest{RmID: id}))
		r, err := stream.Recv()
		assert.NilError(t, err)
		assert.Assert(t, r.Accepted[0].NodeID == id)
	})
}

// More streams than a connection to the scheduler may have, from several clients.
func TestGRPC_ManyStreams(t *testing.T) {
	const streams, perClient = 300, 100
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newChain(t, where, &fake{nodes: echoNodes})
		var conns []si.SchedulerClient
		address := c.conn.Target()
		for range streams / perClient {
			conns = append(conns, si.NewSchedulerClient(newClient(t, address, nil)))
		}
		open := make([]si.Scheduler_UpdateNodeClient, streams)
		var all sync.WaitGroup
		for i := range streams { // all at once, also those that wait for the first connection
			all.Go(func() {
				stream, err := conns[i/perClient].UpdateNode(forPartition(bounded(t), "default"))
				if assert.Check(t, err) {
					open[i] = stream
					assert.Check(t, stream.Send(&si.NodeRequest{RmID: "a"}))
					_, err := stream.Recv()
					assert.Check(t, err)
				}
			})
		}
		all.Wait()
		assert.Assert(t, !slices.Contains(open, nil))
		assert.Assert(t, c.at.accepted() >= 2 && c.at.accepted() <= 5, "%d connections", c.at.accepted())
		for _, stream := range open {
			assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "b"}))
			_, err := stream.Recv()
			assert.NilError(t, err)
		}
	})
}

func TestGRPC_ServerHasTLS(t *testing.T) {
	server, client := certificates(t)
	c := newChain(t, inProcess, &fake{nodes: echoNodes})
	f := New(c.forwarder.opt)
	conn := newClient(t, serveCalls(t, f, server), client)
	stream, err := si.NewSchedulerClient(conn).UpdateNode(forPartition(bounded(t), "default"))
	assert.NilError(t, err)
	assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "a"}))
	_, err = stream.Recv()
	assert.NilError(t, err)
}
