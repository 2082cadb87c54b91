package webservice

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// router is a mux that keeps the list of its routes.
type router struct {
	*http.ServeMux
	patterns []string // method and path, in the order in which they were registered
}

func newRouter() *router { return &router{ServeMux: http.NewServeMux()} }

// HandleFunc is http.ServeMux.HandleFunc.
func (m *router) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.HandleFunc(pattern, h)
}

// routeOptions serves OPTIONS on each path so far.
func (s *service) routeOptions(mux *router) {
	methods := map[string]string{}
	for _, pattern := range slices.Sorted(slices.Values(mux.patterns)) {
		method, path, _ := strings.Cut(pattern, " ")
		methods[path] += method + ", "
	}
	for path, listed := range methods {
		mux.HandleFunc(http.MethodOptions+" "+path, func(w http.ResponseWriter, _ *http.Request) {
			s.answerOptions(w, listed+http.MethodOptions)
		})
	}
}

// origin tells routes of YuniKorn from our own. It decides how unknown query parameters are treated.
type origin bool

const (
	canopyRoute   origin = false // an unknown, repeated or empty parameter is refused with status 400
	yunikornRoute origin = true  // it is ignored, counted and named in a Warning header
)

// queryParameter is a parameter of a query.
type queryParameter struct {
	name, help string
	flag       bool // its presence counts, not its value
}

// routeQuery has the parameters of a route.
type routeQuery struct {
	origin origin
	query  []queryParameter
}

var (
	statusParameter      = queryParameter{name: "status", help: "active applications in this state: " + strings.Join(activeStatuses, ", ")}
	subtreeParameter     = queryParameter{name: "subtree", help: "also the queues below; it needs no value", flag: true}
	namespaceParameter   = queryParameter{name: "namespace", help: "the namespace of the budget"}
	startParameter       = queryParameter{name: "start", help: "the ID of the first record"}
	countParameter       = queryParameter{name: "count", help: "how many records at most; for a stream, how many past records it begins with"}
	sinceParameter       = queryParameter{name: "since", help: "records from this time on: RFC 3339, or a duration before now such as 5m"}
	schedulableParameter = queryParameter{name: "schedulable", help: "true or false: only nodes that are schedulable, or are not"}
	secondsParameter     = queryParameter{name: "seconds", help: "how long profile (default 30) or trace (default 1) records, 300 at most"}
	debugParameter       = queryParameter{name: "debug", help: "1 or 2: as text"}
	gcParameter          = queryParameter{name: "gc", help: "1: of heap, after a garbage collection"}
	untilParameter       = queryParameter{name: "until", help: "records before this time: RFC 3339, or a duration before now such as 1m"}
)

// routeParameters has the routes of YuniKorn, and our own with parameters. A route that is not
// listed is our own and has no parameters.
var routeParameters = map[string]routeQuery{
	"GET /ws/v1/metrics":                                                       {origin: yunikornRoute},
	"GET /debug/stack":                                                         {origin: yunikornRoute},
	"GET /ws/v1/stack":                                                         {origin: yunikornRoute},
	"GET /debug/pprof/{$}":                                                     {origin: yunikornRoute},
	"POST /debug/pprof/symbol":                                                 {origin: yunikornRoute},
	"GET /debug/pprof/{profile}":                                               {yunikornRoute, []queryParameter{secondsParameter, debugParameter, gcParameter}},
	"GET /debug/fullstatedump":                                                 {origin: yunikornRoute},
	"GET /ws/v1/fullstatedump":                                                 {origin: yunikornRoute},
	"GET /ws/v1/config":                                                        {origin: yunikornRoute},
	"GET /ws/v1/clusters":                                                      {origin: yunikornRoute},
	"GET /ws/v1/history/apps":                                                  {origin: yunikornRoute},
	"GET /ws/v1/history/containers":                                            {origin: yunikornRoute},
	"GET /ws/v1/scheduler/node-utilizations":                                   {origin: yunikornRoute},
	"POST /ws/v1/validate-conf":                                                {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/queue/{queue}":                           {yunikornRoute, []queryParameter{subtreeParameter}},
	"GET /ws/v1/partitions":                                                    {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/placementrules":                          {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/queues":                                  {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/nodes":                                   {yunikornRoute, append([]queryParameter{schedulableParameter}, pageParameters...)},
	"GET /ws/v1/partition/{partition}/node/{node}":                             {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/queue/{queue}/applications":              {yunikornRoute, append([]queryParameter{statusParameter, userParameter}, pageParameters...)},
	"GET /ws/v1/partition/{partition}/queue/{queue}/applications/{state}":      {yunikornRoute, append([]queryParameter{statusParameter, userParameter}, pageParameters...)},
	"GET /ws/v1/partition/{partition}/queue/{queue}/application/{application}": {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/applications/{state}":                    {yunikornRoute, append([]queryParameter{statusParameter, userParameter}, pageParameters...)},
	"GET /ws/v1/partition/{partition}/application/{application}":               {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/usage/users":                             {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/usage/user/{user}":                       {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/usage/groups":                            {origin: yunikornRoute},
	"GET /ws/v1/partition/{partition}/usage/group/{group}":                     {origin: yunikornRoute},
	"GET /ws/v1/scheduler/healthcheck":                                         {origin: yunikornRoute},
	"GET /ws/v1/events/batch":                                                  {yunikornRoute, []queryParameter{startParameter, countParameter, sinceParameter, untilParameter}},
	"GET /ws/v1/events/stream":                                                 {yunikornRoute, []queryParameter{countParameter, sinceParameter}},
	"GET /ws/v1/partition/{partition}/node/{node}/eviction-order":              {query: []queryParameter{{name: "resource", help: "what the node lacks"}}},
	"GET /ws/v1/disruptionbudgets":                                             {query: []queryParameter{namespaceParameter}},
	"GET /ws/v1/disruptionbudget/{name}":                                       {query: []queryParameter{namespaceParameter}},
	"POST /ws/v1/disruptionbudgets":                                            {query: []queryParameter{namespaceParameter}},
	"PUT /ws/v1/disruptionbudget/{name}":                                       {query: []queryParameter{namespaceParameter}},
	"DELETE /ws/v1/disruptionbudget/{name}":                                    {query: []queryParameter{namespaceParameter}},
	"DELETE /ws/v1/resourcemanager/{rm}":                                       {query: []queryParameter{{name: "force", help: "true: also one that is connected"}}},
	"GET /ws/v1/partition/{partition}/asks": {query: append([]queryParameter{
		{name: "queue", help: "asks in this queue and those below"},
		{name: "application", help: "asks of this application"},
		{name: "user", help: "asks of applications of this user"},
		{name: "waitingState", help: "asks in this state: " + strings.Join(waitingStates, ", ")},
		{name: "olderThan", help: "asks that have waited for this time or longer, such as 5m"},
	}, pageParameters...)},
	"GET /ws/v1/partition/{partition}/preemptions": {query: []queryParameter{
		{name: "application", help: "preemptions for or of this application"},
		{name: "queue", help: "preemptions for or in this queue and those below"},
		{name: "reason", help: "preemptions for this reason"},
		{name: "limit", help: "how many at most, the newest first"},
	}},
}

// maxWarnings is how many ignored parameters the headers of an answer name at most.
const maxWarnings = 10

// checkQuery refuses, or reports, query parameters that the route does not know, and those that are
// repeated or empty: a filter that is ignored silently would look as if it had been applied (OBS-11,
// OBS-12).
func (s *service) checkQuery(mux *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" && r.Method != http.MethodOptions {
			_, pattern := mux.Handler(r)
			if pattern != "" && !s.acceptQuery(w, r, pattern) {
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// acceptQuery reports whether the request is handled. Requires: pattern is that of a route.
func (s *service) acceptQuery(w http.ResponseWriter, r *http.Request, pattern string) bool {
	known := routeParameters[pattern]
	query, err := url.ParseQuery(r.URL.RawQuery)
	var ignored, refused []string // what is wrong with each parameter, for either origin
	for _, name := range slices.Sorted(maps.Keys(query)) {
		at := slices.IndexFunc(known.query, func(p queryParameter) bool { return p.name == name })
		switch values := query[name]; {
		case at < 0:
			ignored = append(ignored, "unknown parameter "+headerSafe(name)+" ignored")
			refused = append(refused, unknownParameter(name, known.query))
		case len(values) > 1:
			ignored = append(ignored, fmt.Sprintf("parameter %s is given %d times: the first is used", name, len(values)))
			refused = append(refused, fmt.Sprintf("parameter %q is given %d times", name, len(values)))
		case values[0] == "" && !known.query[at].flag:
			ignored = append(ignored, "parameter "+name+" has no value: ignored")
			refused = append(refused, fmt.Sprintf("parameter %q has no value", name))
		}
	}
	switch {
	case err == nil && len(ignored) == 0:
		return true
	case known.origin == canopyRoute && err != nil:
		s.fail(w, r, badRequest("the query cannot be read: "+err.Error()))
		return false
	case known.origin == canopyRoute:
		s.fail(w, r, badRequest(refused[0]))
		return false
	}
	if err != nil {
		ignored = append(ignored, "unknown parameter "+headerSafe(r.URL.RawQuery)+" ignored")
	}
	s.opt.Counts.ParameterIgnored.Add(uint64(len(ignored)))
	for _, text := range ignored[:min(len(ignored), maxWarnings)] {
		w.Header().Add("Warning", `299 - "`+text+`"`)
	}
	return true
}

// unknownParameter is the error text about an unknown parameter, with the known ones or a hint.
func unknownParameter(name string, known []queryParameter) string {
	text := fmt.Sprintf("unknown parameter %q: ", truncated(name))
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	switch hint := validation.DidYouMean(name, names); {
	case len(names) == 0:
		return text + "this path takes none"
	case hint != "":
		return text + hint
	}
	return text + "this path takes " + strings.Join(names, ", ")
}

// headerSafe is a text of a client in the characters that a header may have.
func headerSafe(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '?'
		}
		return c
	}, truncated(text))
}
