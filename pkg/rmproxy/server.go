package rmproxy

import (
	"context"
	"errors"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ServiceName is the name of the gRPC service, for health and reflection.
const ServiceName = "si.v1.Scheduler"

// Register adds the service to a gRPC server.
func (p *Proxy) Register(s grpc.ServiceRegistrar) { si.RegisterSchedulerServer(s, server{p: p}) }

// server is the gRPC door.
type server struct {
	si.UnimplementedSchedulerServer
	p *Proxy
}

// RegisterResourceManager registers, or registers anew.
func (s server) RegisterResourceManager(
	_ context.Context, m *si.RegisterResourceManagerRequest,
) (*si.RegisterResourceManagerResponse, error) {
	// The context of the call is left out on purpose: a registration that has begun
	// is carried through, whether or not the RM still listens.
	if err := s.p.enlist(m, func() *session { return newSession(s.p, m.RmID) }); err != nil {
		return nil, toStatus(err)
	}
	return &si.RegisterResourceManagerResponse{}, nil
}

// UpdateNode is the stream about nodes.
func (s server) UpdateNode(stream si.Scheduler_UpdateNodeServer) error {
	return s.p.serve(stream, nodes)
}

// UpdateApplication is the stream about applications.
func (s server) UpdateApplication(stream si.Scheduler_UpdateApplicationServer) error {
	return s.p.serve(stream, applications)
}

// UpdateAllocation is the stream about asks and allocations.
func (s server) UpdateAllocation(stream si.Scheduler_UpdateAllocationServer) error {
	return s.p.serve(stream, allocations)
}

// toStatus gives an error of the door its code.
func toStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	code := codes.Internal
	switch {
	case errors.Is(err, ErrRequest), errors.Is(err, ErrConfig):
		code = codes.InvalidArgument
	case errors.Is(err, ErrOtherRM), errors.Is(err, ErrNotRegistered):
		code = codes.FailedPrecondition
	case errors.Is(err, ErrClosed):
		code = codes.Unavailable
	case errors.Is(err, errReregistered), errors.Is(err, errReplaced):
		code = codes.Aborted
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	return status.Error(code, err.Error())
}
