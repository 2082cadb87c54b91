package webservice

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
)

// serviceWithAllRoutes is a service with every route of both listeners.
func serviceWithAllRoutes(t *testing.T) (*service, *router) {
	t.Helper()
	c := loop.NewCluster(loop.Options{}, nil, nil)
	t.Cleanup(c.End)
	s := newService(c, Options{Bounds: Bounds{Counts: new(httpserver.Counts)}, Sources: Sources{
		History: history.New(nil), Metrics: http.NotFoundHandler(),
		Reloads:  &reload.Reloader{},
		Managers: noManagers{}, Operators: operators.New(c.Partition, nil), Totals: new(TotalsHistory),
		Usage: new(usage.Store),
	}})
	s.adminListener = true
	return s, s.mux()
}

// noManagers is a scheduler without a resource manager.
type noManagers struct{}

func (noManagers) List() []ResourceManager    { return nil }
func (noManagers) Release(string, bool) error { return ErrNoManager }

func TestRoutes_TableHasEveryRoute(t *testing.T) {
	_, mux := serviceWithAllRoutes(t)
	for pattern, known := range routesByPattern {
		assert.Assert(t, slices.Contains(mux.patterns, pattern), "there is no route %s", pattern)
		assert.Assert(t, known.summary != "", pattern)
		for _, p := range known.query {
			assert.Assert(t, p.name != "" && p.help != "", "%s: %q", pattern, p.name)
		}
		for _, m := range pathName.FindAllStringSubmatch(pattern, -1) {
			assert.Assert(t, pathParameters[m[1]] != "", "%s: %s", pattern, m[1])
		}
	}
	for _, pattern := range mux.patterns {
		assert.Assert(t, routesByPattern[pattern] != nil, "the route table has no %s", pattern)
	}
}

func TestRoutes_UnknownParameterOfCanopyRouteIsRejected(t *testing.T) {
	s, mux := serviceWithAllRoutes(t)
	h := withoutTrailingSlash(mux, s.checkQuery(mux))
	tried := 0
	for _, pattern := range mux.patterns {
		method, path, _ := strings.Cut(pattern, " ")
		if method == http.MethodOptions || routesByPattern[pattern].origin == yunikornRoute {
			continue
		}
		tried++
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, strings.NewReplacer("{", "", "}", "").Replace(path)+"?colour=red", nil))
		assert.Equal(t, w.Code, http.StatusBadRequest, pattern)
		assert.Assert(t, strings.Contains(w.Body.String(), `unknown parameter \"colour\": `), w.Body)
		if len(routesByPattern[pattern].query) == 0 {
			assert.Assert(t, strings.Contains(w.Body.String(), "this path takes none"), w.Body)
		}
	}
	assert.Assert(t, tried > 15, "%d routes", tried)
	for target, want := range map[string]string{
		"/ws/v1/partition/default/preemptions?color=red":       "this path takes application, queue, reason, limit",
		"/ws/v1/partition/default/preemptions?limits=5":        `did you mean \"limit\"`,
		"/ws/v1/partition/default/preemptions?limit=%zz":       "the query cannot be read",
		"/ws/v1/partition/default/preemptions/?queues=a":       "", // redirected first
		"/ws/v1/partition/default/preemptions?limit=1&limit=5": `parameter \"limit\" is given 2 times`,
		"/ws/v1/partition/default/preemptions?queue=":          `parameter \"queue\" has no value`,
		"/readyz?verbose": "this path takes none",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		assert.Assert(t, strings.Contains(w.Body.String(), want), "%s: %s", target, w.Body)
	}
}

func TestRoutes_UnknownParameterOfYuniKornRouteIsIgnoredWithWarning(t *testing.T) {
	s, mux := serviceWithAllRoutes(t)
	h := s.checkQuery(mux)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/events/batch?count=1&sinc%22e=5m&a=1&a=2", nil))
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	assert.DeepEqual(t, w.Header().Values("Warning"), []string{
		`299 - "unknown parameter a ignored"`, `299 - "unknown parameter sinc?e ignored"`,
	})
	assert.Equal(t, s.opt.Counts.ParameterIgnored.Load(), uint64(2))
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/events/batch?since=5m&since=1m&start=", nil))
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	assert.DeepEqual(t, w.Header().Values("Warning"), []string{
		`299 - "parameter since is given 2 times: the first is used"`, `299 - "parameter start has no value: ignored"`,
	})
	assert.Equal(t, s.opt.Counts.ParameterIgnored.Load(), uint64(4))
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/events/batch?since=", nil))
	assert.Equal(t, w.Code, http.StatusBadRequest, "an empty time is no filter")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/events/batch?count=1", nil))
	assert.Equal(t, w.Header().Get("Warning"), "")
}
