package webservice

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// router is a mux that knows what it serves.
type router struct {
	*http.ServeMux
	patterns []string // method and path, in the order in which they were registered
}

func newRouter() *router { return &router{ServeMux: http.NewServeMux()} }

// HandleFunc is that of http.ServeMux.
func (m *router) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.HandleFunc(pattern, h)
}

// origin says whose a route is, and so what becomes of a parameter that it does not know.
type origin bool

const (
	ours     origin = false // a parameter that is not known is refused
	upstream origin = true  // it is ignored and counted, and a Warning header says so
)

// parameterOf is a parameter of a query.
type parameterOf struct {
	name, help string
	ours       bool // upstream does not have it
}

// parametersOf are the parameters of a route.
type parametersOf struct {
	origin origin
	query  []parameterOf
}

var (
	statusParameter    = parameterOf{name: "status", help: "active applications in this state: " + strings.Join(activeStatuses, ", ")}
	namespaceParameter = parameterOf{name: "namespace", help: "the namespace of the budget"}
	firstParameter     = parameterOf{name: "start", help: "the ID of the first record"}
	countParameter     = parameterOf{name: "count", help: "how many records at most; of a stream, how many past ones it begins with"}
	sinceParameter     = parameterOf{"since", "records from this time on: RFC 3339, or a duration before now such as 5m", true}
	untilParameter     = parameterOf{"until", "records before this time: RFC 3339, or a duration before now such as 1m", true}
)

// queries are the routes that have parameters, and those of upstream (behaviour.md 11.3). A
// route that is not listed is ours and has none.
var queries = map[string]parametersOf{
	"GET /ws/v1/metrics":                                                       {origin: upstream},
	"GET /ws/v1/config":                                                        {origin: upstream},
	"GET /ws/v1/partitions":                                                    {origin: upstream},
	"GET /ws/v1/partition/{partition}/queues":                                  {origin: upstream},
	"GET /ws/v1/partition/{partition}/nodes":                                   {origin: upstream},
	"GET /ws/v1/partition/{partition}/node/{node}":                             {origin: upstream},
	"GET /ws/v1/partition/{partition}/queue/{queue}/applications":              {origin: upstream},
	"GET /ws/v1/partition/{partition}/queue/{queue}/applications/{state}":      {upstream, []parameterOf{statusParameter}},
	"GET /ws/v1/partition/{partition}/queue/{queue}/application/{application}": {origin: upstream},
	"GET /ws/v1/partition/{partition}/applications/{state}":                    {upstream, []parameterOf{statusParameter}},
	"GET /ws/v1/partition/{partition}/application/{application}":               {origin: upstream},
	"GET /ws/v1/partition/{partition}/usage/users":                             {origin: upstream},
	"GET /ws/v1/partition/{partition}/usage/user/{user}":                       {origin: upstream},
	"GET /ws/v1/partition/{partition}/usage/groups":                            {origin: upstream},
	"GET /ws/v1/partition/{partition}/usage/group/{group}":                     {origin: upstream},
	"GET /ws/v1/scheduler/healthcheck":                                         {origin: upstream},
	"GET /ws/v1/events/batch":                                                  {upstream, []parameterOf{firstParameter, countParameter, sinceParameter, untilParameter}},
	"GET /ws/v1/events/stream":                                                 {upstream, []parameterOf{countParameter, sinceParameter}},
	"GET /ws/v1/partition/{partition}/node/{node}/eviction-order":              {query: []parameterOf{{name: "resource", help: "what the node lacks"}}},
	"GET /ws/v1/disruptionbudgets":                                             {query: []parameterOf{namespaceParameter}},
	"GET /ws/v1/disruptionbudget/{name}":                                       {query: []parameterOf{namespaceParameter}},
	"POST /ws/v1/disruptionbudgets":                                            {query: []parameterOf{namespaceParameter}},
	"PUT /ws/v1/disruptionbudget/{name}":                                       {query: []parameterOf{namespaceParameter}},
	"DELETE /ws/v1/disruptionbudget/{name}":                                    {query: []parameterOf{namespaceParameter}},
	"DELETE /ws/v1/resourcemanager/{rm}":                                       {query: []parameterOf{{name: "force", help: "true: also one that is connected"}}},
	"GET /ws/v1/partition/{partition}/preemptions": {query: []parameterOf{
		{name: "application", help: "preemptions for or of this application"},
		{name: "queue", help: "preemptions for or in this queue and those below"},
		{name: "right", help: "preemptions by this right"},
		{name: "limit", help: "how many at most, the newest first"},
	}},
}

// mostWarnings is how many parameters the headers of an answer name.
const mostWarnings = 10

// checked refuses or reports what a query says that the route does not read: a filter that is
// ignored without a word looks as if it had been applied.
func (s *service) checked(mux *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" && r.Method != http.MethodOptions {
			_, pattern := mux.Handler(r)
			if pattern != "" && !s.queryIsKnown(w, r, pattern) {
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// queryIsKnown reports whether a request may go on. Requires: a route has the pattern.
func (s *service) queryIsKnown(w http.ResponseWriter, r *http.Request, pattern string) bool {
	known := queries[pattern]
	query, err := url.ParseQuery(r.URL.RawQuery)
	var strange []string
	for name := range query {
		if !slices.ContainsFunc(known.query, func(p parameterOf) bool { return p.name == name }) {
			strange = append(strange, name)
		}
	}
	slices.Sort(strange)
	switch {
	case err == nil && len(strange) == 0:
		return true
	case known.origin == ours && err != nil:
		s.fail(w, r, badRequest("the query cannot be read: "+err.Error()))
		return false
	case known.origin == ours:
		s.fail(w, r, badRequest(unknownParameter(strange[0], known.query)))
		return false
	}
	if err != nil {
		strange = append(strange, r.URL.RawQuery)
	}
	s.opt.Counts.UnknownParameter.Add(uint64(len(strange)))
	for _, name := range strange[:min(len(strange), mostWarnings)] {
		w.Header().Add("Warning", `299 - "unknown parameter `+headerSafe(name)+` ignored"`)
	}
	return true
}

// unknownParameter says what is wrong with a parameter, and which ones there are.
func unknownParameter(name string, known []parameterOf) string {
	text := fmt.Sprintf("unknown parameter %q: ", clipped(name))
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	switch hint := configs.DidYouMean(name, names); {
	case len(names) == 0:
		return text + "this path takes none"
	case hint != "":
		return text + hint
	}
	return text + "this path takes " + strings.Join(names, ", ")
}

// headerSafe is a text of a client as a header may repeat it.
func headerSafe(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '?'
		}
		return c
	}, clipped(text))
}
