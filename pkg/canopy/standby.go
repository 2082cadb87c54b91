package canopy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/logging"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// standby are the servers of a member that does not lead: they say where the leader is (HA-7, HA-8).
type standby struct {
	self   election.Leader
	opt    *Options
	log    *zap.Logger
	leader atomic.Pointer[MemberInfo] // another member that is known to lead; nil: none
	warned atomic.Int64               // the epoch of the last leader that leadsBack has warned of

	grpc        *grpc.Server // nil: none, like the following
	health      *health.Server
	http, admin *httpserver.Server
	serving     sync.WaitGroup
}

// newStandby starts the servers at the receivers.
func newStandby(opt *Options, log *zap.Logger, secured *security, self election.Leader, at listeners) *standby {
	s := &standby{self: self, opt: opt, log: log}
	counts := new(httpserver.Counts)
	m := metrics.New(metrics.Options{Now: opt.Now, Log: log, HTTP: counts})
	if c, ok := logging.CounterOf(log); ok {
		m.SetLogSource(c.Lines)
	}
	m.SetHASource(func() metrics.HA {
		if l := s.leader.Load(); l != nil {
			return metrics.HA{Epoch: l.Epoch}
		}
		return metrics.HA{}
	})
	access := webservice.Options{Process: webservice.Process{Log: log}, Access: webservice.Access{Auth: secured.auth,
		RemoteAdmin: opt.Security.isSecure(), AdminSocket: opt.hasAdminSocket()}}
	scrapes := m.Handler(loop.NewCluster(loop.Options{}, nil, nil))
	if at.grpc != nil {
		s.health = health.NewServer()
		for _, service := range append([]string{""}, managerServices...) {
			s.health.SetServingStatus(service, healthpb.HealthCheckResponse_NOT_SERVING)
		}
		s.grpc = grpc.NewServer(append(transportOptions(secured), grpc.UnknownServiceHandler(s.refuse))...)
		healthpb.RegisterHealthServer(s.grpc, s.health)
		s.serving.Go(func() { _ = s.grpc.Serve(at.grpc) }) // a receiver does not fail
	}
	serve := func(on net.Listener, h http.Handler) *httpserver.Server {
		web := newHTTPServer(opt, log, secured, h, counts, on)
		s.serving.Go(func() { _ = web.Serve(on) })
		return web
	}
	if at.http != nil {
		s.http = serve(at.http, opt.checkHost((&standbyREST{s, webservice.ReadAccess(access, scrapes)}).handler(true)))
	}
	if at.admin != nil {
		s.admin = serve(at.admin, webservice.AdminAccess(access, (&standbyREST{s, scrapes}).handler(false)))
	}
	return s
}

// observe keeps which member leads. This member is not a leader that a client is to go to: its term has not begun, or
// is over.
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
	l := s.leader.Load()
	if l == nil {
		return status.Error(codes.Unavailable, errNoLeader.Error())
	}
	var asked string
	if md, ok := metadata.FromIncomingContext(stream.Context()); ok {
		asked = strings.Join(md.Get(":authority"), "")
	}
	if s.isOwn(l.GRPC, s.self.GRPC, asked) {
		return status.Error(codes.Unavailable, s.leadsBack(l, "HA.AdvertiseGRPC", l.GRPC))
	}
	if l.GRPC != "" {
		stream.SetTrailer(metadata.Pairs(leaderKey, l.GRPC))
	}
	return status.Errorf(codes.Unavailable, "this member stands by: the leader is %s at %s", l.Name, l.GRPC)
}

// isOwn reports whether an address that the leader advertises leads back to this member (HA-11): it advertises the
// same, or the client has asked for it and has come here.
func (s *standby) isOwn(leader, own, asked string) bool {
	return leader != "" && (strings.EqualFold(leader, own) || strings.EqualFold(leader, asked))
}

// leadsBack returns why clients are not sent to an address of the leader, and logs it once for each leader.
func (s *standby) leadsBack(l *MemberInfo, option, address string) string {
	if s.warned.Swap(l.Epoch) != l.Epoch {
		s.log.Warn("the leader advertises an address of this member: clients are not sent there",
			zap.String("leader", l.Name),
			zap.String("address", address), zap.String("option", s.opt.optionName(option)))
	}
	return fmt.Sprintf("this member stands by: the leader is %s, and advertises %s, which leads back to this member: "+
		"check %s of both",
		l.Name, address, s.opt.optionName(option))
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
