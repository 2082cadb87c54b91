package canopy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/canopy-scheduler/canopy/internal/election"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/logging"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// standby are the servers of a member that does not lead: they say where the leader is (HA-7, HA-8).
type standby struct {
	self   election.Leader
	leader atomic.Pointer[MemberInfo] // nil: none is known

	grpc        *grpc.Server // nil: none, like the following
	health      *health.Server
	http, admin *httpserver.Server
	serving     sync.WaitGroup
}

// newStandby starts the servers at the receivers.
func newStandby(opt *Options, log *zap.Logger, secured *security, self election.Leader, at listeners) *standby {
	s := &standby{self: self}
	counts := new(httpserver.Counts)
	m := metrics.New(metrics.Options{Now: opt.Now, Log: log, HTTP: counts})
	if c, ok := logging.CounterOf(log); ok {
		m.SetLogSource(c.Lines)
	}
	m.SetHASource(func() metrics.HA {
		l, _ := s.known()
		return metrics.HA{Epoch: l.Epoch}
	})
	rest := &standbyREST{of: s, auth: secured.auth, log: log, metrics: m.Handler(loop.NewCluster(loop.Options{}, nil, nil))}
	if at.grpc != nil {
		s.health = health.NewServer()
		for _, service := range []string{"", rmproxy.ServiceName} {
			s.health.SetServingStatus(service, healthpb.HealthCheckResponse_NOT_SERVING)
		}
		s.grpc = grpc.NewServer(append(transportOptions(secured), grpc.UnknownServiceHandler(s.refuse))...)
		healthpb.RegisterHealthServer(s.grpc, s.health)
		s.serving.Go(func() { _ = s.grpc.Serve(at.grpc) }) // a receiver does not fail
	}
	serve := func(on net.Listener, redirects bool) *httpserver.Server {
		h := rest.handler(redirects)
		if redirects {
			h = opt.checkHost(h)
		}
		web := newHTTPServer(opt, log, secured, h, counts, on)
		s.serving.Go(func() { _ = web.Serve(on) })
		return web
	}
	if at.http != nil {
		s.http = serve(at.http, true)
	}
	if at.admin != nil {
		s.admin = serve(at.admin, false)
	}
	return s
}

// known is the leader, if a member other than this one is known to lead.
func (s *standby) known() (MemberInfo, bool) {
	if l := s.leader.Load(); l != nil {
		return *l, true
	}
	return MemberInfo{}, false
}

// observe keeps which member leads. This member is not a leader that a client is to go to: its term has not begun, or is over.
func (s *standby) observe(l election.Leader, epoch int64) {
	if epoch == 0 || l == s.self {
		s.leader.Store(nil)
		return
	}
	m := memberInfo(l, epoch)
	s.leader.Store(&m)
}

// refuse answers each call of gRPC (HA-7).
func (s *standby) refuse(_ any, stream grpc.ServerStream) error {
	l, ok := s.known()
	if !ok {
		return status.Error(codes.Unavailable, errNoLeader.Error())
	}
	if l.GRPC != "" {
		stream.SetTrailer(metadata.Pairs(leaderKey, l.GRPC))
	}
	return status.Errorf(codes.Unavailable, "this member stands by: the leader is %s at %s", l.Name, l.GRPC)
}

var errNoLeader = errors.New("this member stands by, and no leader is known")

// close ends the servers. Requests under way get until ctx ends.
func (s *standby) close(ctx context.Context) {
	if s.grpc != nil {
		s.health.Shutdown()
		s.grpc.Stop() // its calls have nothing to wait for
	}
	for _, web := range []*httpserver.Server{s.http, s.admin} {
		if web != nil {
			shutdownHTTP(ctx, web)
		}
	}
	s.serving.Wait()
}
