package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/canopy-scheduler/canopy/internal/effectlog"
	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// patience is for calls under way, when stopping.
const patience = 2 * time.Second

// servers are the doors of a running scheduler.
type servers struct {
	log    *zap.Logger
	proxy  *rmproxy.Proxy
	past   *history.History
	facts  *effectlog.Log
	meters *metrics.Metrics
	rpc    *grpc.Server
	health *health.Server
	web    *httpserver.Server
	admin  *httpserver.Server // nil without --admin

	end     *termination // watches over stop; nil: nothing does
	serving sync.WaitGroup
	closing atomic.Bool
	once    sync.Once
	failed  chan struct{} // closed when a door could not stay open
	err     error         // why; read it after failed is closed, or after stop
}

func newServers(opt rmproxy.Options, admin bool, web httpFlags) *servers {
	s := &servers{log: opt.Log, health: health.NewServer(), failed: make(chan struct{})}
	s.past = history.New(opt.Loop.Now)
	counts := new(httpserver.Counts)
	large := httpserver.NewGate(cmp.Or(web.largeAnswers, httpserver.DefaultLargeAnswers), counts)
	s.meters = metrics.New(metrics.Options{Now: opt.Loop.Now, Log: opt.Log, History: s.past, HTTP: counts, Large: large})
	s.facts = effectlog.New(cmp.Or(opt.Log, zap.NewNop()))
	opt.Heard = func(partition string, effects []scheduler.Effect) {
		s.past.Hear(partition, effects)
		s.meters.Hear(partition, effects)
		s.facts.Hear(partition, effects)
	}
	opt.Answered = s.facts.HearAnswer
	opt.Loop.Audited = func(partition string, a loop.Audit) { s.facts.Audited(partition, a.Checked, a.Took, a.Err) }
	opt.Loop.Meter = s.meters.Meter
	others := opt.Reload.InForce
	opt.Reload.InForce = func(g *reload.Generation) {
		s.past.Use(history.Read(g.Extra))
		if others != nil {
			others(g)
		}
	}
	s.proxy = rmproxy.New(opt)
	s.meters.CountRM(managers{s.proxy}.counts)
	s.rpc = s.overGRPC()
	s.health.SetServingStatus(rmproxy.ServiceName, healthpb.HealthCheckResponse_SERVING)
	rest := webservice.Options{
		ClusterID:  func() string { r, _ := s.proxy.Registration(); return r.RM },
		ReadyCheck: s.ready, Log: s.log, Reloads: s.proxy.Reloads(), History: s.past, HasAdmin: admin,
		Managers: managers{s.proxy},
		Metrics:  s.meters.Handler(s.proxy.Cluster()), Counts: counts, CacheBytes: web.cacheBytes, Large: large,
	}
	s.web = s.overHTTP(webservice.Handler(s.proxy.Cluster(), rest), web, counts)
	if admin {
		s.admin = s.overHTTP(webservice.Admin(s.proxy.Cluster(), rest), web, counts)
	}
	return s
}

// ready says why requests cannot be served.
func (s *servers) ready() error {
	if s.closing.Load() {
		return errors.New("the scheduler is stopping")
	}
	return nil
}

func (s *servers) start(d doors) {
	if l, ok := d.rpc.(*boundedListener); ok {
		l.log = s.log
	}
	s.serving.Go(func() {
		if err := s.rpc.Serve(d.rpc); err != nil {
			s.fail(fmt.Errorf("grpc: %w", err))
		}
	})
	s.serveHTTP("http", s.web, d.web)
	if s.admin != nil {
		s.serveHTTP("admin", s.admin, d.admin)
	}
}

// fail notes the first reason why the servers cannot go on.
func (s *servers) fail(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.failed)
	})
}

// announce writes the ready line to the log and to standard output, which is not waited for:
// it may be a pipe that is not read.
func (s *servers) announce(out io.Writer, d doors) {
	fields := []zap.Field{zap.Stringer("grpc", d.rpc.Addr()), zap.Stringer("http", d.web.Addr())}
	if d.admin != nil {
		fields = append(fields, zap.String("admin", adminAddress(d.admin)))
	}
	s.log.Info("ready", fields...)
	go func() {
		if _, err := fmt.Fprintln(out, d); err != nil {
			s.fail(fmt.Errorf("announce readiness: %w", err))
		}
	}()
}

// stop closes the doors, waits a moment for calls under way, and ends the scheduler.
func (s *servers) stop() {
	s.closing.Store(true)
	s.health.Shutdown()
	s.past.Close() // streams would stay open as long as clients like
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var ending sync.WaitGroup
	for name, web := range map[string]*httpserver.Server{"the HTTP server": s.web, "the admin server": s.admin} {
		if web != nil {
			ending.Go(func() { s.end.step(name, func() { endHTTP(ctx, web) }) })
		}
	}
	ending.Go(func() {
		// Streams stay open as long as both sides like, so the proxy ends its own. Others,
		// such as a watch of the health, are cut when the time is up.
		defer context.AfterFunc(ctx, s.rpc.Stop)()
		s.end.step("the gRPC server", s.rpc.GracefulStop)
	})
	s.end.step("the partitions and the streams of the resource manager", s.proxy.Close)
	s.facts.Close() // after the last effect, and before the log
	ending.Wait()
	s.end.step("the watch of the configuration file", s.serving.Wait)
}
