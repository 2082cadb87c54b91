package rmproxy

import (
	"context"
	"errors"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

// ServiceName is the name of the gRPC service, for health and reflection.
const ServiceName = "si.v1.Scheduler"

// Register adds the service, and that of hints, to a gRPC server, which must have the ServerOptions.
func (p *Proxy) Register(s grpc.ServiceRegistrar) {
	s.RegisterService(p.service(), server{p: p})
	canopyv1.RegisterHintsServer(s, p.hints)
}

// service describes the service (RMI-1). RegisterResourceManager is described as a stream, which is
// the same on the wire: so the client is checked, and has a time limit, before its message is received.
func (p *Proxy) service() *grpc.ServiceDesc {
	desc := si.Scheduler_ServiceDesc
	desc.Methods = nil
	desc.Streams = append([]grpc.StreamDesc{{
		StreamName: "RegisterResourceManager", ClientStreams: true, ServerStreams: true,
		Handler: func(_ any, stream grpc.ServerStream) error { return p.serveRegistration(stream) },
	}}, desc.Streams...)
	return &desc
}

// server is the gRPC API.
type server struct {
	si.UnimplementedSchedulerServer
	p *Proxy
}

// UpdateNode handles the stream about nodes.
func (s server) UpdateNode(stream si.Scheduler_UpdateNodeServer) error {
	return s.p.serveStream(stream, nodeStream)
}

// UpdateApplication handles the stream about applications.
func (s server) UpdateApplication(stream si.Scheduler_UpdateApplicationServer) error {
	return s.p.serveStream(stream, applicationStream)
}

// UpdateAllocation handles the stream about asks and allocations.
func (s server) UpdateAllocation(stream si.Scheduler_UpdateAllocationServer) error {
	return s.p.serveStream(stream, allocationStream)
}

// toStatus gives an error its gRPC status code (RMI-5).
func toStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if refused := auth.Status(err); refused != err {
		return refused
	}
	code := codes.Internal
	switch {
	case errors.Is(err, ErrRequest), errors.Is(err, ErrConfig):
		code = codes.InvalidArgument
	case errors.Is(err, ErrOtherRM), errors.Is(err, ErrNotRegistered):
		code = codes.FailedPrecondition
	case errors.Is(err, ErrTooLarge), errors.Is(err, errTooManySilentStreams), errors.Is(err, errNotReading):
		code = codes.ResourceExhausted
	case errors.Is(err, errNoFirstMessage):
		code = codes.DeadlineExceeded
	case errors.Is(err, ErrClosed):
		code = codes.Unavailable
	case errors.Is(err, errReregistered), errors.Is(err, errReplaced), errors.Is(err, errOpenedBeforeRegistration),
		errors.Is(err, errReleased), errors.Is(err, errRMReplaced):
		code = codes.Aborted
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	return status.Error(code, err.Error())
}
