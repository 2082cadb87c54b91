package webservice

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/coalesce"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/totals"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Options are the settings of a Handler. The zero value is valid.
type Options struct {
	// the ID of the registered resource manager, empty while there is none; nil: always empty
	ClusterID    func() string
	LogLevel     func() string       // the least level that is logged, for the state dump; nil: unknown
	ReadyCheck   func() error        // the error of /readyz; nil: always ready
	Log          *zap.Logger         // nil: none
	Reloads      *reload.Reloader    // the configuration and its history; nil: neither is served
	History      *history.History    // the event history; nil: it is not served
	Metrics      http.Handler        // answers scrapes of Prometheus; nil: they are not served
	Managers     ResourceManagers    // the registered resource managers; nil: they are not served
	Operators    Operators           // carries out actions of operators; nil: neither they nor their state are served
	AdminEnabled bool                // the process has an admin listener, see Admin
	Auth         *auth.Authenticator // says what a client may do; nil: everything that the listener serves
	RemoteAdmin  bool                // the admin listener serves other machines
	// only the user of the process can connect to the admin listener: it needs no credentials
	AdminSocket bool
	FileWarning string // says when a file replaces a configuration of the admin listener; empty: never

	MaxLiveStreams int             // bound of the open streams of changes; 0: DefaultLiveStreams
	Closing        <-chan struct{} // closed when streams of changes must end; nil: never

	Started time.Time       // when the process began; zero: unknown
	Totals  *totals.History // the totals of the last day; nil: they are not served
	Usage   *usage.Store    // usage over time, and applications that ended before Started; nil: neither is served

	// Refusals are the reasons for which a resource manager in this process has refused nodes for a pending ask; nil:
	// there is no such resource manager.
	Refusals func(partition string, ask objects.AllocationKey) []Refusal

	Recording func(partition string) error // why the partition is not recorded any more; nil: nothing is recorded

	Forecasts *forecast.Forecaster // says when asks are expected to start; nil: that is not served

	// of applications: how long those of Usage are shown, and how long a forecast has them wait
	Lifetimes lifecycle.Lifetimes

	// Diagnostics is a JSON document of the resource manager in this process for the state dump; empty: it has none. nil:
	// there is no such resource manager.
	Diagnostics func(context.Context) (string, error)

	// Debug serves stacks and profiles of the process. Without it they are refused with a text that names DebugOption, the
	// name of the option, such as --debug.
	Debug       bool
	DebugOption string

	Origins []string // whose web pages may read answers, see CheckOrigin; the admin listener has none

	Now func() time.Time // the clock of the partitions; nil: time.Now

	LargeAnswers *httpserver.ResponseLimiter // bounds the large answers at the same time; nil: no bound
	Counts       *httpserver.Counts          // counts refused requests and ignored parameters; nil: they are not counted
	CacheBytes   int64                       // bound of the encoded text that is kept for later readers; 0: none is kept
}

// DefaultCacheBytes is for Options.CacheBytes: the size for a partition with 300,000 allocations.
const DefaultCacheBytes = 256 << 20

// Liveness are the paths that are answered even when too many connections are open.
var Liveness = []string{"/healthz", "/readyz"}

// AnyHostPaths are the paths that are answered whatever the Host of the request is: health and metrics, which probes
// and Prometheus ask for by names of their own, and which show no application.
var AnyHostPaths = []string{"/healthz", "/readyz", "/metrics", "/ws/v1/metrics"}

type service struct {
	cluster                *loop.Cluster
	opt                    Options
	snapshots              snapshots
	cacheBudget            cacheBudget
	nodeLists              snapshotCache[*encodedList]
	activeApplicationLists snapshotCache[*encodedList]
	queueTrees             snapshotCache[*queueTree]
	partitionBodies        snapshotCache[dao.Partition]
	userUsages             snapshotCache[*usages]
	fairnessTrees          snapshotCache[*usage.Tree]
	groupUsages            snapshotCache[*usages]
	configCache            configCache
	rules                  rulesCache
	validations            validations
	planning               planning
	live                   live

	dumps          *httpserver.ResponseLimiter // one state dump at a time
	openAPI        sync.Once
	openAPIText    []byte // set by openAPI
	adminListener  bool   // it serves changes, see Admin
	audits         audits
	healthChecks   coalesce.Group[any]        // /ws/v1/scheduler/healthcheck
	locationHashes map[string]*locationHashes // by partition, of the last health check; only the health check uses it
}

// answer handles a request. The value becomes JSON; an error that is not a failure becomes status
// 500, or 503 (see service.fail).
type answer func(r *http.Request) (any, error)

// Handler serves the REST interface of a cluster. It only reads.
func Handler(c *loop.Cluster, opt Options) http.Handler {
	s := newService(c, opt)
	mux := s.mux()
	s.routeOptions(mux)
	s.routeMethodNotAllowed(mux)
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
		dumps:   httpserver.NewResponseLimiter(1, new(httpserver.Counts)),
		cluster: c, opt: opt, cacheBudget: cacheBudget{maxBytes: opt.CacheBytes},
		healthChecks: coalesce.Group[any]{Pause: readPauseFactor},
	}
}

// mux serves everything that only reads (OBS-6). Handler and Admin have it in common.
func (s *service) mux() *router {
	mux := newRouter()
	s.route(mux, "/healthz", s.health)
	s.route(mux, "/readyz", s.ready)
	s.route(mux, "/ws/v1/scheduler/healthcheck", s.healthCheck)
	s.route(mux, "/ws/v1/scheduler/node-utilizations", s.nodeUtilizations)
	s.route(mux, "/ws/v1/clusters", s.clusters)
	s.route(mux, "/ws/v1/partitions", s.partitions)
	s.route(mux, "/ws/v1/partition/{partition}/queue/{queue}", s.oneQueue)
	s.route(mux, "/ws/v1/partition/{partition}/queues", s.queues)
	s.route(mux, "/ws/v1/partition/{partition}/classquotas", s.classQuotas)
	s.route(mux, "/ws/v1/partition/{partition}/nodes", s.nodes)
	s.route(mux, "/ws/v1/partition/{partition}/node/{node}", s.node)
	s.route(mux, "/ws/v1/partition/{partition}/node/{node}/eviction-order", s.evictionOrder)
	s.route(mux, "/ws/v1/partition/{partition}/queue/{queue}/applications", s.applications)
	s.route(mux, "/ws/v1/partition/{partition}/queue/{queue}/applications/{state}", s.applicationsByState)
	s.route(mux, "/ws/v1/partition/{partition}/queue/{queue}/application/{application}", s.application)
	s.route(mux, "/ws/v1/partition/{partition}/applications/{state}", s.applicationsByState)
	s.route(mux, "/ws/v1/partition/{partition}/application/{application}", s.application)
	s.route(mux, "/ws/v1/partition/{partition}/usage/users", s.users)
	s.route(mux, "/ws/v1/partition/{partition}/usage/user/{user}", s.user)
	s.route(mux, "/ws/v1/partition/{partition}/usage/groups", s.groups)
	s.route(mux, "/ws/v1/partition/{partition}/usage/group/{group}", s.group)
	s.route(mux, "/ws/v1/partition/{partition}/ask/{key}/explain", s.explain)
	s.route(mux, "/ws/v1/partition/{partition}/application/{application}/explain", s.explainApplication)
	s.route(mux, "/ws/v1/partition/{partition}/asks", s.asks)
	s.route(mux, "/ws/v1/partition/{partition}/asks/rejected", s.rejectedAsks)
	s.routeOperators(mux)
	s.route(mux, "/ws/v1/partition/{partition}/fairness", s.fairness)
	s.routeTotals(mux)
	s.routeUsage(mux)
	s.routeValidate(mux)
	s.routePlan(mux)
	s.routeLive(mux)
	s.routePreemptions(mux)
	s.routeEvents(mux)
	for _, kind := range objectRoutes {
		kind.routeReads(s, mux)
	}
	s.routeConfig(mux)
	s.routeMetrics(mux)
	s.routeManagers(mux)
	s.routeStateDump(mux)
	s.routeDebug(mux)
	s.routeOpenAPI(mux)
	return mux
}

// route serves GET on a path. The mux answers other methods with 405, and an unknown path with 404, both in plain
// text (OBS-7).
func (s *service) route(mux *router, path string, handle answer) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		body, err := handle(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.writeJSON(w, r, http.StatusOK, body)
	})
}

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
