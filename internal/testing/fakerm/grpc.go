package fakerm

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// GRPC offers the scheduler interface over gRPC. Messages need no ID of the resource manager.
type GRPC struct {
	ctx         context.Context
	client      si.SchedulerClient
	nodes       si.Scheduler_UpdateNodeClient
	apps        si.Scheduler_UpdateApplicationClient
	allocations si.Scheduler_UpdateAllocationClient
}

var _ api.SchedulerAPI = (*GRPC)(nil)

// OverGRPC returns the scheduler of a client. Its streams end with ctx.
func OverGRPC(ctx context.Context, client si.SchedulerClient) *GRPC {
	return &GRPC{ctx: ctx, client: client}
}

// RegisterResourceManager registers and opens the three streams. What arrives on one of them is passed to callback
// until the stream ends; calls for different streams may overlap.
func (g *GRPC) RegisterResourceManager(m *si.RegisterResourceManagerRequest,
	callback api.ResourceManagerCallback) (r *si.RegisterResourceManagerResponse, err error) {
	if r, err = g.client.RegisterResourceManager(g.ctx, m); err != nil {
		return nil, err
	}
	var failed [3]error
	g.nodes, failed[0] = g.client.UpdateNode(g.ctx)
	g.apps, failed[1] = g.client.UpdateApplication(g.ctx)
	g.allocations, failed[2] = g.client.UpdateAllocation(g.ctx)
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	go pass(g.nodes.Recv, callback.UpdateNode)
	go pass(g.apps.Recv, callback.UpdateApplication)
	go pass(g.allocations.Recv, callback.UpdateAllocation)
	return r, errors.Join(
		g.nodes.Send(&si.NodeRequest{RmID: m.RmID}),
		g.apps.Send(&si.ApplicationRequest{RmID: m.RmID}),
		g.allocations.Send(&si.AllocationRequest{RmID: m.RmID}),
	)
}

func pass[M any](recv func() (M, error), to func(M) error) {
	for {
		m, err := recv()
		if err != nil || to(m) != nil {
			return
		}
	}
}

// UpdateNode sends a message.
func (g *GRPC) UpdateNode(m *si.NodeRequest) error { return g.nodes.Send(m) }

// UpdateApplication sends a message.
func (g *GRPC) UpdateApplication(m *si.ApplicationRequest) error { return g.apps.Send(m) }

// UpdateAllocation sends a message.
func (g *GRPC) UpdateAllocation(m *si.AllocationRequest) error { return g.allocations.Send(m) }

// UpdateConfiguration fails: the gRPC API has no such call.
func (g *GRPC) UpdateConfiguration(*si.UpdateConfigurationRequest) error {
	return fmt.Errorf("fakerm: %w", errors.ErrUnsupported)
}

// Stop does nothing: the streams end with their context.
func (g *GRPC) Stop() {}
