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
	"github.com/canopy-scheduler/canopy/internal/engine"
	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// shutdownTimeout is how long stop waits for running calls and requests.
const shutdownTimeout = 2 * time.Second

// servers are the APIs of a running scheduler: gRPC, REST and the admin API.
type servers struct {
	log       *zap.Logger
	engine    *engine.Engine
	proxy     *rmproxy.Proxy
	history   *history.History
	effectLog *effectlog.Log
	metrics   *metrics.Metrics
	grpc      *grpc.Server
	health    *health.Server
	http      *httpserver.Server
	admin     *httpserver.Server // nil without --admin

	termination *termination // bounds the time of stop; nil: it is not bounded
	serving     sync.WaitGroup
	stopping    atomic.Bool
	once        sync.Once
	failed      chan struct{} // closed when a server or standard output has failed
	err         error         // the first failure; may be read after failed is closed, or after stop
}

func newServers(opt engine.Options, rm rmproxy.Options, first *reload.Proposal, admin bool, web httpFlags, fileWarning string) *servers {
	s := &servers{log: opt.Log, health: health.NewServer(), failed: make(chan struct{})}
	s.history = history.New(opt.Loop.Now)
	counts := new(httpserver.Counts)
	large := httpserver.NewResponseLimiter(cmp.Or(web.largeAnswers, httpserver.DefaultLargeAnswers), counts)
	s.metrics = metrics.New(metrics.Options{Now: opt.Loop.Now, Log: opt.Log, History: s.history, HTTP: counts, LargeAnswers: large})
	s.effectLog = effectlog.New(cmp.Or(opt.Log, zap.NewNop()))
	opt.OnEffects = func(partition string, effects []scheduler.Effect) {
		s.history.OnEffects(partition, effects)
		s.metrics.OnEffects(partition, effects)
		s.effectLog.OnEffects(partition, effects)
	}
	rm.OnAPIRejected = s.effectLog.OnAPIRejected
	opt.Loop.OnAudit = func(partition string, a loop.Audit) { s.effectLog.OnAudit(partition, a.Checked, a.Took, a.Err) }
	opt.Loop.DecisionMeter = s.metrics.DecisionMeter
	previous := opt.Reload.OnInForce
	opt.Reload.OnInForce = func(g *reload.Generation) {
		s.history.Configure(history.ParseSettings(g.Extra))
		if previous != nil {
			previous(g)
		}
	}
	s.engine = engine.New(opt)
	s.proxy = rmproxy.New(s.engine, rm)
	s.engine.Start(first)
	s.metrics.SetRMSource(managers{s.proxy}.counts)
	s.metrics.SetConfigSource(s.configCounts)
	s.grpc = s.newGRPCServer()
	s.health.SetServingStatus(rmproxy.ServiceName, healthpb.HealthCheckResponse_SERVING)
	rest := webservice.Options{
		ClusterID:  func() string { r, _ := s.proxy.Registration(); return r.RM },
		ReadyCheck: s.ready, Log: s.log, Reloads: s.engine.Reloads(), History: s.history, AdminEnabled: admin, FileWarning: fileWarning,
		Managers: managers{s.proxy},
		Metrics:  s.metrics.Handler(s.engine.Cluster()), Counts: counts, CacheBytes: web.cacheBytes, LargeAnswers: large,
	}
	s.http = s.newHTTPServer(webservice.Handler(s.engine.Cluster(), rest), web, counts)
	if admin {
		s.admin = s.newHTTPServer(webservice.Admin(s.engine.Cluster(), rest), web, counts)
	}
	return s
}

// ready is the check of /readyz; the error says why requests are not served (OBS-50).
func (s *servers) ready() error {
	if s.stopping.Load() {
		return errors.New("the scheduler is stopping")
	}
	return nil
}

func (s *servers) start(d listeners) {
	if l, ok := d.grpc.(*boundedListener); ok {
		l.log = s.log
	}
	s.serving.Go(func() {
		if err := s.grpc.Serve(d.grpc); err != nil && !errors.Is(err, grpc.ErrServerStopped) { // it may be stopped before it serves
			s.fail(fmt.Errorf("grpc: %w", err))
		}
	})
	s.serveHTTP("http", s.http, d.http)
	if s.admin != nil {
		s.serveHTTP("admin", s.admin, d.admin)
	}
}

// fail records the first failure.
func (s *servers) fail(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.failed)
	})
}

// announce writes the ready line to the log and to standard output. It does not wait for standard
// output, which may be a pipe that is not read (OBS-69).
func (s *servers) announce(out io.Writer, d listeners) {
	fields := []zap.Field{zap.Stringer("grpc", d.grpc.Addr()), zap.Stringer("http", d.http.Addr())}
	if d.admin != nil {
		fields = append(fields, zap.String("admin", adminAddress(d.admin)))
	}
	s.warnOfOpenGRPC(d.grpc)
	s.log.Info("ready", fields...)
	go func() {
		if _, err := fmt.Fprintln(out, d); err != nil {
			s.fail(fmt.Errorf("announce readiness: %w", err))
		}
	}()
}

// stop closes the listeners, waits shutdownTimeout at most for running calls and requests, and ends
// the scheduler (RMI-69).
func (s *servers) stop() {
	s.stopping.Store(true)
	s.health.Shutdown()
	s.history.Close() // ends the event streams, which clients may keep open for any time
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var ending sync.WaitGroup
	for name, web := range map[string]*httpserver.Server{"the HTTP server": s.http, "the admin server": s.admin} {
		if web != nil {
			ending.Go(func() { s.termination.step(name, func() { shutdownHTTP(ctx, web) }) })
		}
	}
	ending.Go(func() {
		// GracefulStop waits for all streams. The proxy ends those of the scheduler interface; others,
		// such as a watch of the health service, end with ctx.
		defer context.AfterFunc(ctx, s.grpc.Stop)()
		s.termination.step("the gRPC server", s.grpc.GracefulStop)
	})
	s.termination.step("the partitions and the streams of the resource manager", func() {
		s.proxy.Close()
		s.engine.End()
	})
	s.effectLog.Close() // after the last effect, and before the log
	ending.Wait()
	s.termination.step("the watch of the configuration file", s.serving.Wait)
}
