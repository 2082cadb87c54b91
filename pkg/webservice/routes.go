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
		mux.ServeMux.HandleFunc(http.MethodOptions+" "+path, func(w http.ResponseWriter, _ *http.Request) {
			s.answerOptions(w, listed+http.MethodOptions)
		})
	}
}

// maxWarnings bounds the ignored parameters that the headers of an answer name.
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
	known := routesByPattern[pattern]
	if known == nil {
		known = new(routeInfo) // a method of a path that is refused
	}
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
		s.fail(w, r, badRequest("the query cannot be read: %v", err))
		return false
	case known.origin == canopyRoute:
		s.fail(w, r, badRequest("%s", refused[0]))
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
