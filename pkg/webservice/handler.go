package webservice

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/coalesce"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Options are the settings of a Handler. The zero value is valid.
type Options struct {
	Sources
	Access
	Bounds
	Process
}

// Sources have what is shown besides the partitions.
type Sources struct {
	Reloads  *reload.Reloader // the configuration and its history; nil: neither is served
	History  *history.History // the event history; nil: it is not served
	Totals   *TotalsHistory   // the totals of the last day; nil: they are not served
	Metrics  http.Handler     // answers scrapes of Prometheus; nil: they are not served
	Managers ResourceManagers // the registered resource managers; nil: they are not served
	// the ID of the registered resource manager, empty while there is none; nil: always empty
	ClusterID func() string
	Operators Operators // carries out actions of operators; nil: neither they nor their state are served

	Usage     *usage.Store         // usage over time, and applications that ended before Started; nil: neither is served
	Forecasts *forecast.Forecaster // says when asks are expected to start; nil: that is not served
	// of applications: how long those of Usage are shown, and how long a forecast has them wait
	Lifetimes lifecycle.Lifetimes

	// Refusals are the reasons for which a resource manager in this process has refused nodes for a pending ask; nil:
	// there is no such resource manager.
	Refusals func(partition string, ask objects.AllocationKey) []dao.AskLog

	Recording func(partition string) error // why the partition is not recorded any more; nil: nothing is recorded

	// Elsewhere returns what an answer adds about a partition that is not served here; nil: nothing.
	Elsewhere func(partition string) string

	// Diagnostics is a JSON document of the resource manager in this process for the state dump; empty: it has none. nil:
	// there is no such resource manager.
	Diagnostics func(context.Context) (string, error)
}

// Access says who may ask for what.
type Access struct {
	Auth         *auth.Authenticator // says what a client may do; nil: everything that the listener serves
	Origins      []string            // whose web pages may read answers, see CheckOrigin; the admin listener has none
	AdminEnabled bool                // the process has an admin listener, see Admin
	RemoteAdmin  bool                // the admin listener serves other machines
	// only the user of the process can connect to the admin listener: it needs no credentials
	AdminSocket bool
	FileWarning string // says when a file replaces a configuration of the admin listener; empty: never

	// Debug serves stacks and profiles of the process. Without it they are refused with a text that names DebugOption, the
	// name of the option, such as --debug.
	Debug       bool
	DebugOption string
}

// Bounds limits what clients may cost.
type Bounds struct {
	LargeAnswers   *httpserver.ResponseLimiter // bounds the large answers at the same time; nil: no bound
	MaxLiveStreams int                         // bound of the open streams of changes; 0: DefaultLiveStreams
	Counts         *httpserver.Counts          // counts refused requests and ignored parameters; nil: they are not counted
}

// Process holds what the process tells the handler about itself.
type Process struct {
	Started    time.Time        // when the process began; zero: unknown
	Closing    <-chan struct{}  // closed when streams of changes must end; nil: never
	ReadyCheck func() error     // the error of /readyz; nil: always ready
	LogLevel   func() string    // the least level that is logged, for the state dump; nil: unknown
	Log        *zap.Logger      // nil: none
	Now        func() time.Time // the clock of the partitions; nil: time.Now
}

// Liveness are the paths that are answered even when too many connections are open.
var Liveness = []string{"/healthz", "/readyz"}

// AnyHostPaths are the paths that are answered whatever the Host of the request is: health and metrics, which probes
// and Prometheus ask for by names of their own, and which show no application.
var AnyHostPaths = []string{"/healthz", "/readyz", "/metrics", "/ws/v1/metrics"}

type service struct {
	cluster       *loop.Cluster
	opt           Options
	adminListener bool // it serves changes, see Admin
	description   func() any

	snapshots    snapshots
	healthChecks coalesce.Group[any]         // /ws/v1/scheduler/healthcheck
	dumps        *httpserver.ResponseLimiter // one state dump at a time
	configs      configCache
	rules        rulesCache
	validations  validations
	planning     planning
	live         live
	audits       audits
}

// Handler serves the REST interface of a cluster. It only reads.
func Handler(c *loop.Cluster, opt Options) http.Handler {
	s := newService(c, opt)
	mux := s.mux()
	return s.withOrigins(s.authenticated(auth.Read, withoutTrailingSlash(mux, s.answersEnded(s.checkQuery(mux)))))
}

func newService(c *loop.Cluster, opt Options) *service {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.Counts == nil {
		opt.Counts = new(httpserver.Counts)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.LogLevel == nil {
		opt.LogLevel = func() string { return "" }
	}
	return &service{
		cluster: c, opt: opt, snapshots: newSnapshots(), dumps: httpserver.NewResponseLimiter(1, new(httpserver.Counts)),
		healthChecks: coalesce.Group[any]{Pause: readPauseFactor},
	}
}

// mux serves the routes of the table that the options have something for; the public listener refuses changes (OBS-6).
// It answers other methods with 405, and an unknown path with 404, both in plain text (OBS-7).
func (s *service) mux() *router {
	mux := newRouter()
	for _, section := range routeSections {
		for i := range section.routes {
			info := &section.routes[i]
			switch {
			case info.changes && !s.adminListener:
				mux.ServeMux.HandleFunc(info.pattern, s.notAllowed(info))
			case info.needs == nil || info.needs(&s.opt):
				mux.HandleFunc(info.pattern, info.serve(s, info))
			}
		}
	}
	s.routeOptions(mux)
	mux.ServeMux.HandleFunc("GET "+dryRunPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", "POST, OPTIONS")
		s.fail(w, r, refusal(http.StatusMethodNotAllowed, "send the ask with POST"))
	})
	s.description = func() any { return describe(mux.patterns) }
	return mux
}

// serve makes the handler of a route.
type serve func(*service, *routeInfo) http.HandlerFunc

// raw serves what writes its answer itself.
func raw(handle func(*service, http.ResponseWriter, *http.Request)) serve {
	return func(s *service, _ *routeInfo) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { handle(s, w, r) }
	}
}

// read answers with the JSON of a body.
func read(handle func(*service, *http.Request) (any, error)) serve {
	return raw(func(s *service, w http.ResponseWriter, r *http.Request) {
		body, err := handle(s, r)
		s.answer(w, r, http.StatusOK, body, err)
	})
}

// ofSnapshot answers with the JSON of a body that depends on nothing but a snapshot of the partition in the path and
// the query. A client that has it already is answered with 304 and no body (OBS-19).
func ofSnapshot(handle func(*service, *http.Request, *scheduler.Snapshot) (any, error)) serve {
	return raw(func(s *service, w http.ResponseWriter, r *http.Request) {
		l, err := s.partition(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		snap, err := s.snapshots.get(r.Context(), l)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if state := r.PathValue("state"); s.opt.Usage == nil || state == "" || strings.EqualFold(state, "active") {
			tag := s.snapshots.etag(l, snap, r) // what has ended before the start leaves its list without a change
			w.Header().Set("ETag", tag)
			if hasTag(r, tag) {
				w.Header().Add("Vary", "Accept-Encoding")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		body, err := handle(s, r, snap)
		s.answer(w, r, http.StatusOK, body, err)
	})
}

// ofSameOrigin is read for requests with a body, which no web page of an origin that the options do not name may send.
func ofSameOrigin(handle func(*service, *http.Request) (any, error)) serve {
	return func(s *service, info *routeInfo) http.HandlerFunc {
		check, next := s.crossOriginCheck(), read(handle)(s, info)
		return func(w http.ResponseWriter, r *http.Request) {
			if err := check(r); err != nil {
				s.fail(w, r, refusal(http.StatusForbidden, "%v", err))
				return
			}
			next(w, r)
		}
	}
}

// Routes that need a part of the options.
func reloads(o *Options) bool          { return o.Reloads != nil }
func eventHistory(o *Options) bool     { return o.History != nil }
func dayTotals(o *Options) bool        { return o.Totals != nil }
func usageStore(o *Options) bool       { return o.Usage != nil }
func metrics(o *Options) bool          { return o.Metrics != nil }
func resourceManagers(o *Options) bool { return o.Managers != nil }
func operatorStates(o *Options) bool   { return o.Operators != nil }

// metrics serves the metrics (OBS-60). Options.Metrics compresses the answer itself; compressing it again here would
// make it unreadable (OBS-65).
func (s *service) metrics(w http.ResponseWriter, r *http.Request) { s.opt.Metrics.ServeHTTP(w, r) }

// withoutTrailingSlash redirects a request for a known path with a trailing slash to that path (OBS-14).
func withoutTrailingSlash(mux *router, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trimmed, found := strings.CutSuffix(r.URL.Path, "/")
		if _, own := mux.Handler(r); own != "" {
			next.ServeHTTP(w, r) // a route that ends in a slash
			return
		}
		// A path that is not clean might redirect to another host; the mux answers it.
		if !found || trimmed == "" || path.Clean(r.URL.Path) != trimmed {
			next.ServeHTTP(w, r)
			return
		}
		shorter := r.Clone(r.Context())
		shorter.URL.Path = trimmed
		shorter.URL.RawPath = strings.TrimSuffix(r.URL.RawPath, "/")
		if _, pattern := mux.Handler(shorter); pattern == "" {
			next.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, shorter.URL.RequestURI(), http.StatusMovedPermanently)
	})
}
