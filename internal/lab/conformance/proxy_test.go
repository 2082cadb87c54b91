package conformance_test

import (
	"context"
	"net"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

// proxy is a scheduler that passes everything on to another one, and changes the answers.
type proxy struct {
	si.UnimplementedSchedulerServer
	canopyv1.UnimplementedHintsServer
	to          si.SchedulerClient
	toHints     canopyv1.HintsClient
	states      func(*canopyv1.WaitingState)
	nodes       func(*si.NodeResponse) // nil: the answers stay
	apps        func(*si.ApplicationResponse)
	allocations func(*si.AllocationResponse)
	refuses     bool // streams about allocations end at once
}

// start serves, and connects to the proxy.
func (p *proxy) start(t *testing.T) *grpc.ClientConn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	server := grpc.NewServer()
	si.RegisterSchedulerServer(server, p)
	if p.toHints != nil {
		canopyv1.RegisterHintsServer(server, p)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NilError(t, <-served)
	})
	return connect(t, listener.Addr().String())
}

func (p *proxy) RegisterResourceManager(ctx context.Context,
	m *si.RegisterResourceManagerRequest) (*si.RegisterResourceManagerResponse, error) {
	return p.to.RegisterResourceManager(ctx, m)
}

func (p *proxy) UpdateNode(s si.Scheduler_UpdateNodeServer) error {
	to, err := p.to.UpdateNode(s.Context())
	if err != nil {
		return err
	}
	return relay(s, to, p.nodes)
}

func (p *proxy) UpdateApplication(s si.Scheduler_UpdateApplicationServer) error {
	to, err := p.to.UpdateApplication(s.Context())
	if err != nil {
		return err
	}
	return relay(s, to, p.apps)
}

func (p *proxy) UpdateAllocation(s si.Scheduler_UpdateAllocationServer) error {
	if p.refuses {
		return status.Error(codes.Unimplemented, "no allocations")
	}
	to, err := p.to.UpdateAllocation(s.Context())
	if err != nil {
		return err
	}
	return relay(s, to, p.allocations)
}

func (p *proxy) WaitingStates(m *canopyv1.WaitingStatesRequest,
	s grpc.ServerStreamingServer[canopyv1.WaitingStatesResponse]) error {
	to, err := p.toHints.WaitingStates(s.Context(), m)
	for err == nil {
		var r *canopyv1.WaitingStatesResponse
		if r, err = to.Recv(); err == nil {
			for _, x := range r.WaitingStates {
				if p.states != nil {
					p.states(x)
				}
			}
			err = s.Send(r)
		}
	}
	return err
}

// relay passes messages on in both directions until one side ends.
func relay[Q, A any](from grpc.BidiStreamingServer[Q, A], to grpc.BidiStreamingClient[Q, A], change func(*A)) error {
	go func() {
		for {
			m, err := from.Recv()
			if err != nil || to.Send(m) != nil {
				return // the other direction ends the stream
			}
		}
	}()
	for {
		m, err := to.Recv()
		if err != nil {
			return err
		}
		if change != nil {
			change(m)
		}
		if err := from.Send(m); err != nil {
			return err
		}
	}
}
