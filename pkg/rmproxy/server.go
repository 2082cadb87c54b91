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

// Register adds the service to a gRPC server. Its messages are received in bounds of their own
// (Limits), so the largest message of the server may be as small as what else it serves allows.
func (p *Proxy) Register(s grpc.ServiceRegistrar) { s.RegisterService(p.service(), server{p: p}) }

// service describes the service as it is on the wire, where a call is a stream of one message in
// each direction: as a stream it lets its message be received piece by piece.
func (p *Proxy) service() *grpc.ServiceDesc {
	desc := si.Scheduler_ServiceDesc
	desc.Methods = nil
	desc.Streams = append([]grpc.StreamDesc{{
		StreamName: "RegisterResourceManager",
		Handler:    func(_ any, stream grpc.ServerStream) error { return p.serveRegistration(stream) },
	}}, desc.Streams...)
	return &desc
}

// server is the gRPC API.
type server struct {
	si.UnimplementedSchedulerServer
	p *Proxy
}

// UpdateNode is the stream about nodes.
func (s server) UpdateNode(stream si.Scheduler_UpdateNodeServer) error {
	return s.p.serveStream(stream, nodeStream)
}

// UpdateApplication is the stream about applications.
func (s server) UpdateApplication(stream si.Scheduler_UpdateApplicationServer) error {
	return s.p.serveStream(stream, applicationStream)
}

// UpdateAllocation is the stream about asks and allocations.
func (s server) UpdateAllocation(stream si.Scheduler_UpdateAllocationServer) error {
	return s.p.serveStream(stream, allocationStream)
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
	case errors.Is(err, ErrTooLarge), errors.Is(err, errTooManySilentStreams), errors.Is(err, errNotReading):
		code = codes.ResourceExhausted
	case errors.Is(err, errNoFirstMessage), errors.Is(err, errTooSlow):
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
