package main

import (
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// maxMessage is how many bytes a message may have: a resource manager may replay its whole
// state in one.
const maxMessage = 64 << 20

// overGRPC is the gRPC server: the scheduler interface, health and reflection.
func (s *servers) overGRPC() *grpc.Server {
	rpc := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 5 * time.Second, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.ChainUnaryInterceptor(recovery.UnaryServerInterceptor(recovery.WithRecoveryHandler(s.recovered))),
		grpc.ChainStreamInterceptor(recovery.StreamServerInterceptor(recovery.WithRecoveryHandler(s.recovered))),
	)
	s.proxy.Register(rpc)
	healthpb.RegisterHealthServer(rpc, s.health)
	reflection.Register(rpc)
	return rpc
}

// recovered is the last resort: a call that panics fails, the scheduler goes on.
func (s *servers) recovered(p any) error {
	s.log.Error("panic in a call", zap.Any("panic", p), zap.Stack("stack"))
	return status.Error(codes.Internal, "the scheduler could not serve the call")
}
