package canopy

import (
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// Bounds of the gRPC server. Those of the messages of resource managers are in rmproxy.Limits.
const (
	maxRequestBytes       = 64 << 10         // bytes of a message to a standby
	maxHeaderBytes        = 64 << 10         // bytes of the headers of a call
	streamsPerConnection  = 128              // calls and streams at the same time; further ones wait in the client
	handshakeTimeout      = 10 * time.Second // for the HTTP/2 handshake of a connection
	idleConnectionTimeout = 10 * time.Minute // without a call or a stream; then the connection is closed
)

// managerServices are the services for resource managers.
var managerServices = []string{rmproxy.ServiceName, hints.ServiceName}

// newGRPCServer returns the gRPC server: the scheduler interface, hints, health and, with Options.Debug, reflection
// (RMI-1, RMI-43).
func (s *Server) newGRPCServer() *grpc.Server {
	rpc := grpc.NewServer(append(append(transportOptions(s.security), s.proxy.ServerOptions()...),
		grpc.ChainUnaryInterceptor(recovery.UnaryServerInterceptor(recovery.WithRecoveryHandler(s.recovered)),
			s.term.unaryInterceptor,
			s.security.auth.UnaryInterceptor(managerServices, s.log.Named(securityLogger))),
		grpc.ChainStreamInterceptor(recovery.StreamServerInterceptor(recovery.WithRecoveryHandler(s.recovered)),
			s.term.streamInterceptor,
			s.security.auth.StreamInterceptor(managerServices, s.log.Named(securityLogger))),
	)...)
	s.proxy.Register(rpc)
	healthpb.RegisterHealthServer(rpc, s.grpcState)
	if s.opt.Debug {
		reflection.Register(rpc)
	}
	return rpc
}

// transportOptions returns the options that bound and encrypt the connections of a gRPC server.
func transportOptions(secured *security) []grpc.ServerOption {
	transport := insecure.NewCredentials()
	if c := secured.tlsConfig("h2"); c != nil {
		transport = credentials.NewTLS(c)
	}
	return []grpc.ServerOption{
		grpc.Creds(transport),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(streamsPerConnection),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 5 * time.Second, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: time.Minute, Timeout: 20 * time.Second, MaxConnectionIdle: idleConnectionTimeout,
		}),
	}
}

// recovered makes a panic in a call an error of that call; the scheduler goes on (RMI-6).
func (s *Server) recovered(p any) error {
	s.log.Error("panic in a call", zap.Any("panic", p), zap.Stack("stack"))
	return status.Error(codes.Internal, "the scheduler could not serve the call")
}
