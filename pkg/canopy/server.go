package canopy

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/canopy-scheduler/canopy/internal/server/effectlog"
	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/logging"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/internal/server/webui"
	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// Server is a running scheduler. It is safe for concurrent use.
type Server struct {
	opt  Options
	log  *zap.Logger
	term *serverTerm // nil: the Server leads no group

	// opened before the scheduler runs, and closed after it
	page     webui.Site
	security *security
	users    *usergroup.Resolvers
	store    configStore  // nil: the history is not stored
	usage    *usage.Store // nil: usage is not kept
	kept     keptState
	recorded *recordings
	groups   *groups
	listeners

	engine    *engine.Engine
	proxy     *rmproxy.Proxy
	operators *operators.Operators
	history   *history.History
	forecasts *forecast.Forecaster
	effectLog *effectlog.Log
	metrics   *metrics.Metrics
	stopUsage func() // ends the samples of usage; nil: there are none

	handler   http.Handler
	grpc      *grpc.Server // nil: none, like the following
	grpcState *health.Server
	http      *httpserver.Server
	admin     *httpserver.Server

	ctx     context.Context // ends when Close is called
	cancel  context.CancelFunc
	serving sync.WaitGroup // the goroutines of listeners, of the watch of Config.File and of the totals of the day
	closing closing
	end
}

// end stops a Server or a Member once, and records why.
type end struct {
	stopping atomic.Bool
	once     sync.Once
	done     chan struct{} // closed when it does not serve any more
	err      error         // why; read after done is closed
}

// Done is closed when serving has stopped: Close was called, a listener has failed, or the Server of a term has not
// ended. After a failure the caller must still Close.
func (e *end) Done() <-chan struct{} { return e.done }

// Err returns the reason why Done is closed: a failure, or nil after Close. nil before.
func (e *end) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// stopped closes Done. err is the failure; nil: Close was called.
func (e *end) stopped(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.done)
	})
}

// Start starts a Server. When ctx ends before the Server runs, Start returns its error; later ctx has no
// effect, and the caller must Close the Server.
//
// The error is a *ConfigError with all problems of the configuration, or *OptionError values, joined.
// Nothing is left running or open then, except that an operation of a disk that hangs ends later.
func Start(ctx context.Context, opt Options) (*Server, error) {
	if err := opt.check(nil); err != nil {
		return nil, err
	}
	opt.openLevels()
	return start(ctx, opt, nil)
}

// start is Start for valid options. term is that of a Member; nil: the Server is alone.
func start(ctx context.Context, opt Options, term *serverTerm) (*Server, error) {
	s := &Server{opt: opt, log: cmp.Or(opt.Log, zap.NewNop()), term: term}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.closing.done, s.end.done = make(chan struct{}), make(chan struct{})
	first, err := s.open(ctx)
	if err != nil {
		return nil, s.discard(err)
	}
	counts := new(httpserver.Counts)
	large := httpserver.NewResponseLimiter(cmp.Or(opt.HTTP.MaxLargeAnswers, httpserver.DefaultLargeAnswers), counts)
	s.schedule(first, metrics.Options{HTTP: counts})
	s.offer(counts, large)
	s.serve()
	if term == nil {
		s.security.watch(s.ctx, &s.serving, &s.opt, s.log.Named(securityLogger))
	}
	if s.groups.read != nil && len(opt.Config.Partitions) > 0 {
		s.serving.Go(func() { s.groups.follow(s.ctx, term.refresh, s.log) })
	}
	s.watchConfig(first)
	return s, nil
}

// open opens what the Server needs of the machine, and returns the first configuration; nil: the embedded default.
// After an error discard closes what was opened.
func (s *Server) open(ctx context.Context) (first *reload.Proposal, err error) {
	o := &s.opt
	if s.page, err = o.openPage(); err != nil {
		return nil, err
	}
	if s.term != nil {
		s.security, s.listeners = s.term.security, s.term.listeners
	} else if s.security, err = o.loadSecurity(); err != nil {
		return nil, err
	}
	if s.groups, err = o.openGroups(ctx, s.term); err != nil {
		return nil, err
	}
	s.users = usergroup.NewResolvers(o.userOptions())
	if first, s.store, err = o.loadFirst(ctx, s.users, s.term); err != nil {
		return nil, err
	}
	if s.term == nil {
		s.listeners, err = o.openListeners(ctx)
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	if s.kept, err = o.openState(ctx, s.term); err != nil {
		return nil, err
	}
	if s.usage, err = o.openUsage(); err != nil {
		return nil, err
	}
	s.recorded, err = o.openRecordings()
	return first, err
}

// discard closes what open has opened before its error, which it returns.
func (s *Server) discard(err error) error {
	s.cancel()
	if s.users != nil {
		s.users.Close()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	if s.usage != nil {
		err = errors.Join(err, s.usage.Close())
	}
	return errors.Join(err, s.kept.close(), s.listeners.close(), s.page.Close())
}

// schedule starts the scheduler, with all that observes it.
func (s *Server) schedule(first *reload.Proposal, m metrics.Options) {
	s.history, s.forecasts = history.New(s.opt.Now), forecast.NewForecaster(s.opt.DurationTag, s.opt.Now)
	m.Now, m.Log, m.History = s.opt.Now, s.log.Named(metricsLogger), s.history
	s.metrics, s.effectLog = metrics.New(m), effectlog.New(s.log)
	s.recorded.onFailure = s.effectLog.OnRecording
	s.operators = operators.New(func(name string) (*loop.Loop, bool) { return s.engine.Cluster().Partition(name) },
		s.kept.operators)
	s.engine = engine.New(s.engineOptions())
	s.proxy = rmproxy.New(s.engine, rmproxy.Options{
		Log: s.log.Named(managersLogger), IgnoreRMConfig: s.opt.Config.exists(), StrictClasses: s.opt.StrictPriorityClasses,
		RecoveryQuiet: s.opt.InProcess.RecoveryQuiet, PlacementsPerSecond: s.opt.InProcess.PlacementsPerSecond,
		Limits: s.opt.rmLimits(), OnAPIRejected: s.effectLog.OnAPIRejected, AccessCounts: s.security.auth.Counts(),
		Events: sentEvents{s.history}, Elsewhere: s.groups.elsewhere,
		Hints: hints.Options{Forecasts: s.forecasts, Lifetimes: *s.opt.lifetimes()},
	})
	s.engine.Start(first)
	s.measure()
	s.recordUsage()
	s.keepState()
}

// measure tells the metrics where their numbers are.
func (s *Server) measure() {
	if c, ok := logging.CounterOf(s.log); ok {
		s.metrics.SetLogSource(c.Lines)
	}
	if s.recorded.store != nil {
		s.metrics.SetRecordingSource(s.recorded.store.LostSteps)
	}
	s.metrics.SetRMSource(managers{s.proxy}.counts)
	s.metrics.SetConfigSource(s.configCounts)
	s.metrics.SetSecuritySource(s.security.counts)
	s.metrics.SetForecastSource(s.forecasts.Calibration)
	s.metrics.SetHealthSource(func() bool { return s.Health() == nil })
	if s.term != nil {
		s.metrics.SetHASource(func() metrics.HA { return metrics.HA{Leader: true, Epoch: s.term.Epoch()} })
	}
}

// offer makes the servers of the listeners.
func (s *Server) offer(counts *httpserver.Counts, large *httpserver.ResponseLimiter) {
	opt := &s.opt
	rest := webservice.Options{
		Sources: webservice.Sources{
			Reloads: s.engine.Reloads(), History: s.history, Totals: s.keepTotals(),
			Metrics:  s.metrics.Handler(s.engine.Cluster()),
			Managers: managers{s.proxy}, ClusterID: func() string { r, _ := s.proxy.Registration(); return r.RM },
			Operators: s.operators, Usage: s.usage, Forecasts: s.forecasts, Lifetimes: *opt.lifetimes(),
			Refusals: s.refusals, Diagnostics: s.proxy.StateDump, Elsewhere: s.groups.elsewhere,
		},
		Access: webservice.Access{
			Auth: s.security.auth, Origins: opt.HTTP.AllowedOrigins, AdminEnabled: opt.AdminAddress != "",
			RemoteAdmin: opt.Security.isSecure(), AdminSocket: opt.hasAdminSocket(), FileWarning: opt.fileWarning(),
			Debug: opt.Debug, DebugOption: opt.optionName("Debug"),
		},
		Bounds: webservice.Bounds{LargeAnswers: large, MaxLiveStreams: opt.HTTP.MaxLiveStreams, Counts: counts},
		Process: webservice.Process{Started: opt.now(), Closing: s.ctx.Done(), ReadyCheck: s.ready, LogLevel: s.logLevel,
			Log: s.log.Named(restLogger), Now: opt.Now},
	}
	if s.recorded.store != nil {
		rest.Recording = s.recorded.store.Ended
	}
	mount := func(site webui.Site, h http.Handler) http.Handler { return s.term.withEpoch(webui.Mount(site, h)) }
	s.handler = mount(s.page, webservice.Handler(s.engine.Cluster(), rest))
	if opt.GRPC.Address != "" {
		s.grpcState = health.NewServer()
		for _, service := range managerServices {
			s.grpcState.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
		}
		s.grpc = s.newGRPCServer()
	}
	server := func(h http.Handler, on net.Listener) *httpserver.Server {
		return newHTTPServer(opt, s.log.Named(restLogger), s.security, h, counts, on)
	}
	if opt.HTTP.Address != "" {
		s.http = server(opt.checkHost(s.handler), s.listeners.http)
	}
	if opt.AdminAddress != "" {
		s.admin = server(mount(webui.Embedded(webui.WithChanges), webservice.Admin(s.engine.Cluster(), rest)),
			s.listeners.admin)
	}
}

// keepTotals samples the totals of all partitions until Close.
func (s *Server) keepTotals() *webservice.TotalsHistory {
	day := new(webservice.TotalsHistory)
	s.serving.Go(func() {
		day.Run(s.ctx, func(ctx context.Context) (webservice.TotalsSample, bool) {
			x, ok := webservice.Totals(ctx, s.engine.Cluster())
			x.At = s.opt.now()
			return x, ok
		})
	})
	return day
}

// engineOptions are the options of the scheduler, with all that observes it.
func (s *Server) engineOptions() engine.Options {
	o := engine.Options{
		Log:         s.log.Named(configLogger),
		Directories: directoriesOf(s.users),
		Reload:      reload.Options{Bounds: s.opt.bounds(), MaxGenerations: s.opt.Config.History, OnInForce: s.onInForce()},
		Loop: loop.Options{
			Now: s.opt.Now, Lifetimes: s.opt.lifetimes(), AuditEvery: orDefault(s.opt.AuditInterval, time.Minute),
			DecisionMeter: s.metrics.DecisionMeter, FirstCommands: s.firstCommands, Recorder: s.recorded.recorder(),
			OnAudit: func(partition string, a loop.Audit) { s.effectLog.OnAudit(partition, a.Checked, a.Took, a.Err) },
			OnRecovered: func(partition string, r loop.Recovery) {
				s.effectLog.OnRecovered(partition, r.Reported, r.Took, r.Bounded)
			},
		},
		OnEffects: func(partition string, effects []scheduler.Effect) {
			s.history.OnEffects(partition, effects)
			s.metrics.OnEffects(partition, effects)
			s.forecasts.OnEffects(partition, effects)
			s.effectLog.OnEffects(partition, effects)
			s.operators.OnEffects(partition, effects)
		},
	}
	if s.store != nil {
		o.Reload.Store, o.Reload.StoredState = s.store, s.store.StoredState()
	}
	return o
}

// ready is the check of /readyz; the error says why requests are not served (OBS-50).
func (s *Server) ready() error {
	if s.end.stopping.Load() {
		return errors.New("the scheduler is stopping")
	}
	return nil
}
