package webservice

import (
	"net/http"
	"path"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/coalesce"
	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/reload"
)

// Options say how a Handler behaves. The zero value is good.
type Options struct {
	ClusterID    func() string    // the ID of the registered resource manager, empty while there is none; nil: always empty
	ReadyCheck   func() error     // why requests cannot be served yet; nil: they always can
	Log          *zap.Logger      // nil: none
	Reloads      *reload.Reloader // what is in force and what was; nil: it is not shown
	History      *history.History // what has happened; nil: it is not shown
	Metrics      http.Handler     // what Prometheus scrapes; nil: nothing
	Managers     ResourceManagers // who is registered; nil: it is not shown
	AdminEnabled bool             // the configuration can be changed elsewhere, see Admin

	Now func() time.Time // the clock of the partitions; nil: time.Now

	LargeAnswers *httpserver.ResponseLimiter // bounds the large answers at the same time; nil: nothing does
	Counts       *httpserver.Counts          // what is refused and ignored is counted here; nil: nowhere
	CacheBytes   int64                       // of encoded text that is kept for the next reader; 0: nothing
}

// DefaultCacheBytes is for Options.CacheBytes: what a partition with 300,000 allocations takes.
const DefaultCacheBytes = 256 << 20

// Liveness are the paths that are answered even if there are too many connections.
var Liveness = []string{"/healthz", "/readyz"}

type service struct {
	cluster                *loop.Cluster
	opt                    Options
	snapshots              snapshots
	cacheBudget            cacheBudget
	nodeLists              snapshotCache[*encodedList]
	activeApplicationLists snapshotCache[*encodedList]
	queueTrees             snapshotCache[*queueTree]
	partitionBodies        snapshotCache[partitionBody]
	userUsages             snapshotCache[*usages]
	groupUsages            snapshotCache[*usages]
	configCache            configCache

	audits         audits
	healthChecks   coalesce.Group[any]       // health checks
	locationHashes map[string]locationHashes // by partition, of the last health check; only what checking runs touches it
	sameOriginOnly bool                      // pages from elsewhere may not read the answers
}

// answer looks something up. What it returns becomes JSON; an error that is no failure
// is a 500.
type answer func(r *http.Request) (any, error)

// Handler serves the REST interface of a cluster. It changes nothing.
func Handler(c *loop.Cluster, opt Options) http.Handler {
	s := newService(c, opt)
	mux := s.mux()
	s.routeMethodNotAllowed(mux)
	return withoutTrailingSlash(mux, s.checkQuery(mux))
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
	return &service{
		cluster: c, opt: opt, cacheBudget: cacheBudget{maxBytes: opt.CacheBytes},
		healthChecks: coalesce.Group[any]{Pause: readPauseFactor},
	}
}

// mux serves everything that only reads.
func (s *service) mux() *router {
	mux := newRouter()
	s.route(mux, "/healthz", s.health)
	s.route(mux, "/readyz", s.ready)
	s.route(mux, "/ws/v1/scheduler/healthcheck", s.healthCheck)
	s.route(mux, "/ws/v1/partitions", s.partitions)
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
	s.routePreemptions(mux)
	s.routeEvents(mux)
	s.routeClasses(mux)
	s.routeBudgets(mux)
	s.routeConfig(mux)
	s.routeMetrics(mux)
	s.routeManagers(mux)
	return mux
}

// route serves GET and OPTIONS on a path. Everything else is answered by the mux: 405,
// or 404 for a path that does not exist, both in plain text (behaviour.md 11.2).
func (s *service) route(mux *router, path string, handle answer) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		body, err := handle(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.writeJSON(w, r, http.StatusOK, body)
	})
	mux.HandleFunc("OPTIONS "+path, s.options)
}

func (s *service) options(w http.ResponseWriter, _ *http.Request) {
	if !s.sameOriginOnly {
		allowOrigins(w.Header())
	}
	w.Header().Set("Allow", allowedMethods)
}

// withoutTrailingSlash sends a client that put a slash too many behind a known path to
// that path.
func withoutTrailingSlash(mux *router, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trimmed, found := strings.CutSuffix(r.URL.Path, "/")
		// A path that is not clean might lead to another host; the mux knows what to do.
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
