package canopy

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/canopy-scheduler/canopy/internal/server/totals"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/internal/server/webui"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// Server is a running scheduler. It is safe for concurrent use.
type Server struct {
	opt       Options
	log       *zap.Logger
	users     *usergroup.Resolvers
	store     configStore  // nil: the history is not stored
	usage     *usage.Store // nil: usage is not kept
	switched  operators.Store
	recorded  *recordings
	operators *operators.Operators
	stopUsage func() // ends the samples of usage; nil: there are none
	engine    *engine.Engine
	proxy     *rmproxy.Proxy
	history   *history.History
	forecasts *forecast.Forecaster
	effectLog *effectlog.Log
	metrics   *metrics.Metrics
	handler   http.Handler
	page      page
	listeners listeners
	security  *security
	term      *serverTerm  // nil: the Server leads no group
	grpc      *grpc.Server // nil: none, like the following
	grpcState *health.Server
	http      *httpserver.Server
	admin     *httpserver.Server

	ctx     context.Context // ends when Close is called
	cancel  context.CancelFunc
	serving sync.WaitGroup // the goroutines of listeners, of the watch of ConfigFile and of the totals of the day
	closing closing
	end     end
}

// end is how a Server stops serving.
type end struct {
	stopping atomic.Bool
	once     sync.Once
	done     chan struct{} // closed when the Server does not serve any more
	err      error         // the failure of a listener; read after done is closed
}

// Start starts a Server. When ctx ends before the Server runs, Start returns its error; later ctx has no
// effect, and the caller must Close the Server.
//
// The error is a *ConfigError with all problems of the configuration, or *OptionError values, joined.
// Nothing is left running or open then, except that an operation of a disk that hangs ends later.
func Start(ctx context.Context, opt Options) (*Server, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	opt.openLevels()
	return start(ctx, opt, nil)
}

// start is Start for valid options. term is that of a Member; nil: the Server is alone.
func start(ctx context.Context, opt Options, term *serverTerm) (*Server, error) {
	page, err := opt.openPage()
	if err != nil {
		return nil, err
	}
	secured, err := opt.securityOf(term)
	if err != nil {
		return nil, errors.Join(err, page.close())
	}
	users := usergroup.NewResolvers(opt.userOptions())
	first, err := opt.loadFirst(ctx, users, term)
	if err != nil {
		users.Close()
		return nil, errors.Join(err, page.close())
	}
	opened, err := opt.listenersOf(ctx, term)
	if err == nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), opened.close())
	}
	if err != nil {
		users.Close()
		return nil, errors.Join(err, first.close(), page.close())
	}
	switched, err := opt.openOperators(ctx, term)
	if err != nil {
		users.Close()
		return nil, errors.Join(err, opened.close(), first.close(), page.close())
	}
	kept, err := opt.openUsage()
	if err != nil {
		users.Close()
		return nil, errors.Join(err, closeOperators(switched), opened.close(), first.close(), page.close())
	}
	recorded, err := opt.openRecordings()
	if err != nil {
		users.Close()
		if kept != nil {
			err = errors.Join(err, kept.Close())
		}
		return nil, errors.Join(err, closeOperators(switched), opened.close(), first.close(), page.close())
	}
	s := newServer(opt, serverParts{first, users, secured, opened, page, kept, switched, recorded, term})
	s.serve()
	if term == nil {
		secured.watch(s.ctx, &s.serving, &s.opt, s.log.Named(securityLogger))
	}
	s.watchConfig(first.proposal)
	return s, nil
}

// serverParts are the parts of a Server that are opened before it runs.
type serverParts struct {
	first     *firstConfig
	users     *usergroup.Resolvers
	security  *security
	listeners listeners
	page      page
	usage     *usage.Store    // nil: usage is not kept
	operators operators.Store // nil: what operators switch is not kept
	recorded  *recordings
	term      *serverTerm // nil: there is none
}

// newServer puts the parts of a Server together. The scheduler runs then.
func newServer(opt Options, p serverParts) *Server {
	s := &Server{opt: opt, log: cmp.Or(opt.Log, zap.NewNop()), users: p.users, store: p.first.store, security: p.security,
		listeners: p.listeners, page: p.page, usage: p.usage, switched: p.operators, recorded: p.recorded, term: p.term}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.closing.done, s.end.done = make(chan struct{}), make(chan struct{})
	s.history, s.forecasts = history.New(opt.Now), forecast.NewForecaster(opt.DurationTag, opt.Now)
	counts := new(httpserver.Counts)
	large := httpserver.NewResponseLimiter(cmp.Or(opt.HTTP.MaxLargeAnswers, httpserver.DefaultLargeAnswers), counts)
	s.metrics = metrics.New(metrics.Options{Now: opt.Now, Log: s.log.Named(metricsLogger), History: s.history,
		HTTP: counts, LargeAnswers: large})
	if c, ok := logging.CounterOf(s.log); ok {
		s.metrics.SetLogSource(c.Lines)
	}
	s.effectLog = effectlog.New(s.log)
	s.recorded.onFailure = s.effectLog.OnRecording
	if s.recorded.store != nil {
		s.metrics.SetRecordingSource(s.recorded.store.LostSteps)
	}
	s.operators = operators.New(func(name string) (*loop.Loop, bool) { return s.engine.Cluster().Partition(name) },
		p.operators)
	s.engine = engine.New(s.engineOptions())
	s.proxy = rmproxy.New(s.engine, rmproxy.Options{
		Log: s.log.Named(managersLogger), IgnoreRMConfig: opt.hasConfig(), StrictClasses: opt.StrictPriorityClasses,
		RecoveryQuiet: opt.RecoveryQuiet, PlacementsPerSecond: opt.PlacementsPerSecond, Limits: opt.rmLimits(),
		OnAPIRejected: s.effectLog.OnAPIRejected, AccessCounts: p.security.auth.Counts(), Events: sentEvents{s.history},
	})
	s.engine.Start(p.first.proposal)
	s.metrics.SetRMSource(managers{s.proxy}.counts)
	s.metrics.SetConfigSource(s.configCounts)
	s.metrics.SetSecuritySource(p.security.counts)
	s.metrics.SetForecastSource(s.forecasts.Calibration)
	s.metrics.SetHealthSource(func() bool { return s.Health() == nil })
	if p.term != nil {
		s.metrics.SetHASource(func() metrics.HA { return metrics.HA{Leader: true, Epoch: p.term.Epoch()} })
	}
	now := opt.Now
	if now == nil {
		now = time.Now
	}
	day := s.keepTotals(now)
	s.recordUsage(now)
	s.keepOperators()
	rest := webservice.Options{
		Sources: webservice.Sources{
			Reloads: s.engine.Reloads(), History: s.history, Totals: day, Metrics: s.metrics.Handler(s.engine.Cluster()),
			Managers: managers{s.proxy}, ClusterID: func() string { r, _ := s.proxy.Registration(); return r.RM },
			Operators: s.operators, Usage: p.usage, Forecasts: s.forecasts, Lifetimes: *opt.lifetimes(),
			Refusals: s.refusals, Diagnostics: s.proxy.StateDump,
		},
		Access: webservice.Access{
			Auth: p.security.auth, Origins: opt.HTTP.AllowedOrigins, AdminEnabled: opt.AdminAddress != "",
			RemoteAdmin: opt.Security.isSecure(), AdminSocket: opt.hasAdminSocket(), FileWarning: opt.fileWarning(),
			Debug: opt.Debug, DebugOption: opt.optionName("Debug"),
		},
		Bounds: webservice.Bounds{LargeAnswers: large, MaxLiveStreams: opt.HTTP.MaxLiveStreams, Counts: counts},
		Process: webservice.Process{Started: now(), Closing: s.ctx.Done(), ReadyCheck: s.ready, LogLevel: s.logLevel,
			Log: s.log.Named(restLogger), Now: opt.Now},
	}
	if s.recorded.store != nil {
		rest.Recording = s.recorded.store.Ended
	}
	s.handler = p.term.withEpoch(webui.Mount(p.page.site, webservice.Handler(s.engine.Cluster(), rest)))
	if opt.GRPC.Address != "" {
		s.grpcState = health.NewServer()
		s.grpcState.SetServingStatus(rmproxy.ServiceName, healthpb.HealthCheckResponse_SERVING)
		s.grpc = s.newGRPCServer()
	}
	if opt.HTTP.Address != "" {
		s.http = newHTTPServer(&opt, s.log.Named(restLogger), p.security, opt.checkHost(s.handler), counts, p.listeners.http)
	}
	if opt.AdminAddress != "" {
		s.admin = newHTTPServer(&opt, s.log.Named(restLogger), p.security,
			p.term.withEpoch(webui.Mount(webui.Embedded(webui.WithChanges), webservice.Admin(s.engine.Cluster(), rest))), counts,
			p.listeners.admin)
	}
	return s
}

// keepTotals samples the totals of all partitions until Close.
func (s *Server) keepTotals(now func() time.Time) *totals.History {
	day := new(totals.History)
	s.serving.Go(func() {
		day.Run(s.ctx, func(ctx context.Context) (totals.Sample, bool) {
			x, ok := webservice.Totals(ctx, s.engine.Cluster())
			x.At = now()
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
		Reload:      reload.Options{Bounds: s.opt.bounds(), MaxGenerations: s.opt.ConfigHistory, OnInForce: s.onInForce()},
		Loop: loop.Options{
			Now: s.opt.Now, Lifetimes: s.opt.lifetimes(), AuditEvery: orDefault(s.opt.AuditInterval, time.Minute),
			DecisionMeter: s.metrics.DecisionMeter, FirstCommands: s.firstOperators, Recorder: s.recorded.recorder(),
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

// Done is closed when the Server has stopped serving: Close was called, or a listener has failed. After
// a failure the caller must still Close the Server.
func (s *Server) Done() <-chan struct{} { return s.end.done }

// Err is why Done is closed: the failure of a listener, or nil after Close. nil while the Server serves.
func (s *Server) Err() error {
	select {
	case <-s.end.done:
		return s.end.err
	default:
		return nil
	}
}

// stopped closes Done. err is the failure of a listener; nil: Close was called.
func (s *Server) stopped(err error) {
	s.end.once.Do(func() {
		s.end.err = err
		close(s.end.done)
	})
}
