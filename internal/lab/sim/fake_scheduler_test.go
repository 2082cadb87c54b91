package sim_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

// fakeScheduler accepts everything and sends a given answer to an ask.
type fakeScheduler struct {
	si.UnimplementedSchedulerServer
	answer      *si.AllocationResponse // nil: nothing
	answerAt    string                 // the answer follows this ask; empty: the first
	silentUntil chan struct{}          // not nil: barriers are not answered, and the first closes it
}

func (fakeScheduler) RegisterResourceManager(context.Context, *si.RegisterResourceManagerRequest) (
	*si.RegisterResourceManagerResponse, error) {
	return &si.RegisterResourceManagerResponse{}, nil
}

// answering is a stream of a scheduler with messages M and answers A.
type answering[M, A any] interface {
	Recv() (*M, error)
	Send(*A) error
}

// answerEach answers each message of a stream.
func answerEach[M, A any](s answering[M, A], answer func(*M) *A) error {
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		if err := s.Send(answer(m)); err != nil {
			return err
		}
	}
}

func (fakeScheduler) UpdateNode(s si.Scheduler_UpdateNodeServer) error {
	return answerEach(s, func(m *si.NodeRequest) *si.NodeResponse {
		answer := &si.NodeResponse{}
		for _, n := range m.Nodes {
			answer.Accepted = append(answer.Accepted, &si.AcceptedNode{NodeID: n.NodeID})
		}
		return answer
	})
}

func (fakeScheduler) UpdateApplication(s si.Scheduler_UpdateApplicationServer) error {
	return answerEach(s, acceptApplications)
}

func acceptApplications(m *si.ApplicationRequest) *si.ApplicationResponse {
	answer := &si.ApplicationResponse{}
	for _, a := range m.New {
		answer.Accepted = append(answer.Accepted, &si.AcceptedApplication{ApplicationID: a.ApplicationID})
	}
	return answer
}

func (l fakeScheduler) UpdateAllocation(s si.Scheduler_UpdateAllocationServer) error {
	return answerEach(s, func(m *si.AllocationRequest) *si.AllocationResponse {
		answer := &si.AllocationResponse{}
		for _, x := range m.Allocations {
			switch {
			case !strings.HasPrefix(x.AllocationKey, "canopy-sim-barrier"):
				if l.answer != nil && (l.answerAt == "" || l.answerAt == x.AllocationKey) {
					answer = l.answer
				}
			case l.silentUntil != nil:
				close(l.silentUntil)
			default:
				no := &si.RejectedAllocation{AllocationKey: x.AllocationKey}
				answer.RejectedAllocations = append(answer.RejectedAllocations, no)
			}
		}
		return answer
	})
}

// serveFake serves a scheduler until the test ends.
func serveFake(t *testing.T, ctx context.Context, scheduler si.SchedulerServer) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	server := grpc.NewServer()
	si.RegisterSchedulerServer(server, scheduler)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NilError(t, <-served)
	})
	return listener.Addr().String()
}

// dialFake registers a client with an ask "k" of 2 cores at a fakeScheduler. It has node "n" with 3
// cores, and node "d", which is draining.
func dialFake(t *testing.T, ctx context.Context, l fakeScheduler) (*sim.Client, error) {
	t.Helper()
	c, err := sim.Dial(ctx, serveFake(t, ctx, l), "test")
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, c.Close()) })
	assert.NilError(t, c.Register(ctx, ""))
	assert.NilError(t, c.AddNodes(ctx,
		sim.Node{ID: "n", Capacity: amounts(3, 9)}, sim.Node{ID: "d", Capacity: amounts(3, 9), Draining: true}))
	assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.a", User: "u"}))
	assert.NilError(t, c.Submit(ctx, ask("k", "app", 2)))
	return c, c.WaitIdle(ctx)
}

func TestClient_DetectsInvalidAnswers(t *testing.T) {
	placed := func(key, node string) *si.Allocation { return &si.Allocation{AllocationKey: key, NodeID: node} }
	gone := func(key string) *si.AllocationRelease {
		return &si.AllocationRelease{AllocationKey: key, Message: "so"}
	}
	cases := []struct {
		name string
		says *si.AllocationResponse
		want string
	}{
		{"an allocation without an ask", &si.AllocationResponse{New: []*si.Allocation{placed("x", "n")}},
			"x was placed on node n, and is not an ask"},
		{"an ask that is placed twice",
			&si.AllocationResponse{New: []*si.Allocation{placed("k", "n"), placed("k", "n")}},
			"k was placed on node n and again on node n"},
		{"a node that does not exist", &si.AllocationResponse{New: []*si.Allocation{placed("k", "x")}},
			"k was placed on node x, which is not schedulable"},
		{"a node that drains", &si.AllocationResponse{New: []*si.Allocation{placed("k", "d")}},
			"k was placed on node d, which is not schedulable"},
		{"a release of a pending ask", &si.AllocationResponse{Released: []*si.AllocationRelease{gone("k")}},
			"k was released, and it is not placed"},
		{"a release without a request",
			&si.AllocationResponse{
				New: []*si.Allocation{placed("k", "n")}, Released: []*si.AllocationRelease{gone("k")},
			},
			"k was released, which was not requested: so"},
		{"a rejection of an allocation",
			&si.AllocationResponse{
				New:                 []*si.Allocation{placed("k", "n")},
				RejectedAllocations: []*si.RejectedAllocation{{AllocationKey: "k", Reason: "no"}},
			},
			"ask k was rejected, and it is not pending: no"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			_, err := dialFake(t, testContext(t), fakeScheduler{answer: x.says})
			assert.Error(t, err, "waiting for the scheduler to be idle: "+x.want)
		})
	}
}

func TestClient_DetectsOvercommittedNode(t *testing.T) {
	ctx := testContext(t)
	c, err := dialFake(t, ctx, fakeScheduler{})
	assert.NilError(t, err)
	assert.NilError(t, c.Submit(ctx, ask("big", "app", 4)))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.Equal(t, len(c.Waiting()), 2)

	says := &si.AllocationResponse{New: []*si.Allocation{
		{AllocationKey: "k", NodeID: "n"}, {AllocationKey: "big", NodeID: "n"},
	}}
	c, err = dialFake(t, ctx, fakeScheduler{answer: says, answerAt: "big"})
	assert.NilError(t, err)
	assert.NilError(t, c.Submit(ctx, ask("big", "app", 2)))
	assert.Error(t, c.WaitIdle(ctx),
		"waiting for the scheduler to be idle: big was placed on node n, which has {memory=9 vcore=3} "+
			"and would need {memory=2 vcore=4}")
}

func TestClient_DetectsUnconfirmedRelease(t *testing.T) {
	ctx := testContext(t)
	says := &si.AllocationResponse{New: []*si.Allocation{{AllocationKey: "k", NodeID: "n"}}}
	c, err := dialFake(t, ctx, fakeScheduler{answer: says})
	assert.NilError(t, err)
	assert.NilError(t, c.Release(ctx, "k"))
	assert.Error(t, c.WaitIdle(ctx), "allocation k on node n was released and the scheduler did not confirm it")
}

func TestClient_WaitIdleIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	silent := make(chan struct{})
	go func() {
		<-silent
		cancel()
	}()
	_, err := dialFake(t, ctx, fakeScheduler{silentUntil: silent})
	assert.Error(t, err, "waiting for the scheduler to be idle: waiting for barrier canopy-sim-barrier-1 to be rejected "+
		"(0 allocated, 0 released so far): context canceled")
	assert.Assert(t, errors.Is(err, context.Canceled))
}
