package webservice_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// Every answer that a test of this package gets by request or adminFixture.send is checked against the description of
// the interface (RST-13): its status, its content type, and its JSON, in which no field may be that the description
// does not have.

// description is the OpenAPI document of the admin listener, which has all routes.
type description struct {
	document map[string]any
	routes   []describedRoute
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
	checked map[string]bool // method, path and status of the JSON that was checked
}

type describedRoute struct {
	method, path string
	pattern      *regexp.Regexp
	responses    map[string]any
}

// unmanaged is a scheduler without a resource manager.
type unmanaged struct{}

func (unmanaged) List() []webservice.ResourceManager { return nil }
func (unmanaged) Release(string, bool) error         { return webservice.ErrNoManager }

// unoperated is a scheduler without partitions.
var unoperated = operators.New(func(string) (*loop.Loop, bool) { return nil, false }, nil)

// fullOptions have everything that is served.
func fullOptions(reloads *reload.Reloader) webservice.Options {
	return webservice.Options{Sources: webservice.Sources{Reloads: reloads, History: history.New(nil),
		Metrics: http.NotFoundHandler(), Managers: unmanaged{}, Operators: unoperated, Totals: new(webservice.TotalsHistory),
		Usage: new(usage.Store)}, Access: webservice.Access{Debug: true, AdminEnabled: true}}
}

var described = sync.OnceValue(func() *description {
	c := loop.NewCluster(loop.Options{}, nil, nil)
	defer c.End()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/ws/v1/openapi.json", nil)
	w := httptest.NewRecorder()
	webservice.Admin(c, fullOptions(&reload.Reloader{})).ServeHTTP(w, r)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		panic(err)
	}
	closeObjects(doc)
	d := &description{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{},
		checked: map[string]bool{}}
	d.document, _ = doc.(map[string]any)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", doc); err != nil {
		panic(err)
	}
	for path, operations := range d.document["paths"].(map[string]any) {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path),
			"[^/]+") + "$")
		for method, operation := range operations.(map[string]any) {
			d.routes = append(d.routes,
				describedRoute{strings.ToUpper(method), path, pattern, operation.(map[string]any)["responses"].(map[string]any)})
		}
	}
	return d
})

// closeObjects has each schema refuse fields that it does not name.
func closeObjects(node any) {
	switch x := node.(type) {
	case map[string]any:
		if _, named := x["properties"].(map[string]any); named && x["type"] == "object" {
			x["additionalProperties"] = false
		}
		for _, below := range x {
			closeObjects(below)
		}
	case []any:
		for _, below := range x {
			closeObjects(below)
		}
	}
}

// route is the route of a request: of several the one whose path has the fewest names; nil: there is none.
func (d *description) route(method, target string) (found *describedRoute) {
	path, _, _ := strings.Cut(target, "?")
	for i := range d.routes {
		x := &d.routes[i]
		if x.method == method && x.pattern.MatchString(path) &&
			(found == nil || strings.Count(x.path, "{") < strings.Count(found.path, "{")) {
			found = x
		}
	}
	return found
}

// mustFollowDescription panics if an answer is not as the description says.
func mustFollowDescription(method, target string, w *httptest.ResponseRecorder) {
	if err := described().check(method, target, w); err != nil {
		panic(fmt.Sprintf("%s %s has status %d, and its answer is not as described: %v\n%.500s", method, target, w.Code, err,
			w.Body))
	}
}

func (d *description) check(method, target string, w *httptest.ResponseRecorder) error {
	route := d.route(method, target)
	if route == nil || w.Code == http.StatusMovedPermanently && !strings.Contains(route.path, "/ws/v1/") {
		return nil // OPTIONS, a path that does not exist, a slash too many
	}
	status := fmt.Sprint(w.Code)
	response, ok := route.responses[status].(map[string]any)
	media := w.Header().Get("Content-Type")
	isJSON := strings.HasPrefix(media, "application/json")
	if !ok {
		hostRefused := w.Code == http.StatusForbidden && method == http.MethodGet
		if w.Code < 500 && w.Code != http.StatusMethodNotAllowed && !hostRefused && isJSON {
			return fmt.Errorf("the description has no status %s", status)
		}
		response, _ = route.responses["default"].(map[string]any)
	}
	if !isJSON {
		return nil
	}
	content, ok := response["content"].(map[string]any)[media].(map[string]any)
	if !ok {
		return fmt.Errorf("the description has no content type %s", media)
	}
	if reference := content["schema"].(map[string]any); len(reference) == 0 || hasFields(target) {
		return nil // any JSON, or an answer that leaves out fields which are always there otherwise
	}
	at := fmt.Sprintf("openapi.json#/paths/%s/%s/responses/%s/content/%s/schema", pointer(route.path),
		strings.ToLower(method), statusOrDefault(route, status), pointer(media))
	compiled, err := d.schema(at)
	if err != nil {
		return err
	}
	text, err := plain(w)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.checked[method+" "+route.path+" "+status] = true
	d.mu.Unlock()
	return compiled.Validate(value)
}

// hasFields reports whether a request selects fields.
func hasFields(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Query().Has("fields")
}

func statusOrDefault(route *describedRoute, status string) string {
	if _, ok := route.responses[status]; ok {
		return status
	}
	return "default"
}

// pointer escapes a name for a JSON pointer in a fragment.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", " ", "%20", ";", "%3B", "=",
		"%3D").Replace(name)
}

func (d *description) schema(at string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if compiled := d.schemas[at]; compiled != nil {
		return compiled, nil
	}
	compiled, err := d.compiler.Compile(at)
	d.schemas[at] = compiled
	return compiled, err
}

// plain is the body of an answer, not compressed.
func plain(w *httptest.ResponseRecorder) ([]byte, error) {
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.Bytes(), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
