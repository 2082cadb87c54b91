package webservice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// Slow clients, unfinished requests and too many connections are in the tests of internal/server/httpserver: a handler
// does not see them.

var pathName = regexp.MustCompile(`\{(\w+)\}`)

// goodNames are names that exist, for the other names of a path with a bad one.
var goodNames = map[string]string{
	"partition": "default", "queue": "root.tenant.fair", "node": "n1", "application": "app-1", "state": "active",
	"user": "ann", "group": "ops", "key": "waits",
	"number": "1", "generation": "1", "name": "low", "rm": "rm", "profile": "heap",
}

// badNames are sent in place of each name of a path.
var badNames = []struct{ name, text string }{
	{"unknown", "none"}, {"bad escape", "a%25zz"}, {"control characters", "a%00%0Ab"}, {"markup", "%3Cscript%3E%22&"},
	{"not UTF-8", "%ff%fe"},
	{"very long", strings.Repeat("x", 4000)}, {"dots", "..%2F..%2Fetc"},
}

// badBodies are sent to each route with a body. The type is the first of the route.
var badBodies = []struct{ name, text string }{
	{"empty", ""}, {"no document", "{"}, {"a list", "[1,2]"}, {"a number", "7"}, {"not UTF-8", "\xff\xfe\x00"},
	{"unknown field", `{"colour":"red"}`},
	{"an alias bomb",
		"a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n"},
	{"very deep", strings.Repeat("[", 5000)}, {"very long", "# " + strings.Repeat("x", 2<<20)},
	{"wrong types", `{"name":{},"value":[],"queueName":7,"resource":"x"}`},
}

// targetOf is a path with one name replaced.
func targetOf(path, replaced, text string) string {
	return pathName.ReplaceAllStringFunc(path, func(m string) string {
		if name := strings.Trim(m, "{}"); name != replaced {
			return url.PathEscape(goodNames[name])
		}
		return text
	})
}

// Each route is sent bad input of each kind. No answer is a fault, each says what is wrong, and all of them are
// recorded in testdata/bad_input.txt: one line for the route, the input, the status and the beginning of the message.
func TestBadInput_EveryRouteSaysWhatIsWrong(t *testing.T) {
	o := newContractFixture(t)
	var out strings.Builder
	record := func(h http.Handler, method, target, input, body string, headers ...string) {
		// it would begin
		if (strings.HasPrefix(target, "/ws/v1/events/stream") || strings.HasPrefix(target, "/ws/v1/live")) &&
			input != "parameters" {
			return
		}
		w := o.send(h, method, target, body, headers...)
		assert.Assert(t, w.Code < 500, "%s %.100s %s: %d %s", method, target, input, w.Code, w.Body)
		text := strings.TrimSpace(w.Body.String())
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && w.Code >= 400 {
			var e struct {
				Code                 int    `json:"status_code"`
				Message, Description string `json:"-"`
			}
			var all map[string]any
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &all), text)
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &e))
			assert.Equal(t, e.Code, w.Code, text)
			text = fmt.Sprint(all["message"])
			assert.Assert(t, text != "" && all["Message"] == all["message"] && all["description"] == text, w.Body)
		}
		if w.Code < 300 {
			text = "accepted"
		}
		if len(text) > 110 {
			text = text[:110] + "..."
		}
		fmt.Fprintf(&out, "  %s: %d %q\n", input, w.Code, text)
	}
	for _, section := range webservice.DocumentedRoutes() {
		for _, route := range section.Routes {
			h := o.handler
			isChange := route.Method != http.MethodGet && !strings.HasSuffix(route.Path, "dry-run") &&
				!strings.HasSuffix(route.Path, "validate-conf") && !strings.HasSuffix(route.Path, "plan") &&
				!strings.HasSuffix(route.Path, "symbol")
			if isChange {
				h = o.admin
			}
			fmt.Fprintf(&out, "%s %s\n", route.Method, route.Path)
			kind := firstBodyType(route)
			for _, m := range pathName.FindAllStringSubmatch(route.Path, -1) {
				for _, bad := range badNames {
					record(h, route.Method, targetOf(route.Path, m[1], bad.text), m[1]+" "+bad.name, `{"name":"x"}`, "Content-Type",
						kind)
				}
			}
			good := targetOf(route.Path, "", "")
			record(h, route.Method,
				good+"?colour=red&limit=-1&fields=,&start=x&since=x&count=x&status=x&resource=zz&force=x&debug=9&user=&queue=..",
				"parameters", "", "Content-Type", kind)
			record(h, route.Method, good+"?%zz&a=%", "bad escapes in the query", "", "Content-Type", kind)
			if kind != "" {
				for _, bad := range badBodies {
					record(h, route.Method, good, "body "+bad.name, bad.text, "Content-Type", kind)
				}
				record(h, route.Method, good, "body of another type", "{}", "Content-Type", "application/x-www-form-urlencoded")
			}
			if isChange {
				record(h, route.Method, good, "from a page of another origin", "", "Content-Type", kind, "Sec-Fetch-Site",
					"cross-site")
				record(h, route.Method, good, "If-Match of nothing", `{"name":"x"}`, "Content-Type", kind, "If-Match", "x")
				record(h, route.Method, good, "for another host", "", "Content-Type", kind, "Host", "evil.example")
				record(o.handler, route.Method, good, "on the public listener", "", "Content-Type", kind)
			}
		}
	}
	file := filepath.Join("testdata", "bad_input.txt")
	if *rewrite {
		assert.NilError(t, os.WriteFile(file, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Equal(t, out.String(), string(want))
}

// firstBodyType is the first content type that a route takes; empty: it has no body.
func firstBodyType(route webservice.DocumentedRoute) string {
	path := described().document["paths"].(map[string]any)[route.Path].(map[string]any)
	operation := path[strings.ToLower(route.Method)].(map[string]any)
	body, ok := operation["requestBody"].(map[string]any)
	if !ok {
		return ""
	}
	for kind := range body["content"].(map[string]any) {
		if kind == jsonBody || kind == "*/*" {
			return kind
		}
	}
	return yamlBody
}

// A method that a path does not have is 405 and names those that it has.
func TestBadInput_WrongMethods(t *testing.T) {
	o := newContractFixture(t)
	methods := map[string][]string{}
	for _, section := range webservice.DocumentedRoutes() {
		for _, route := range section.Routes {
			methods[route.Path] = append(methods[route.Path], route.Method)
		}
	}
	for path, known := range methods {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
			"BREW"} {
			if slices.Contains(known, method) || path == "/debug/pprof/symbol" && method == http.MethodGet {
				continue // symbol is also a profile
			}
			for _, h := range []http.Handler{o.handler, o.admin} {
				w := o.send(h, method, targetOf(path, "", ""), "")
				assert.Equal(t, w.Code, http.StatusMethodNotAllowed, "%s %s: %s", method, path, w.Body)
				assert.Assert(t, w.Header().Get("Allow") != "", "%s %s", method, path)
			}
		}
	}
}

// FuzzHandler: whatever a client sends, no handler panics, no answer is a fault, and each is as described.
func FuzzHandler(f *testing.F) {
	for _, section := range webservice.DocumentedRoutes() {
		for _, route := range section.Routes {
			target := route.Example
			if target == "" {
				target = targetOf(route.Path, "", "")
			}
			f.Add(route.Method, target, "application/json", `{"name":"x","value":1}`)
		}
	}
	f.Add("GET", defaultPartition+"asks?limit=1&after=5+k&fields=allocationKey", "", "")
	f.Add("GET", defaultPartition+"nodes?after=n1&schedulable=true", "", "")
	f.Add("POST", "/ws/v1/config", "application/yaml", contractYAML)
	f.Add("POST", defaultPartition+"preemptions/dry-run", "application/yaml",
		"queueName: root.tenant.fair\nuser: ann\nresource: {vcore: 1}\n")
	o := newFuzzFixture(f)
	f.Fuzz(func(t *testing.T, method, target, kind, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "stream") ||
			strings.Contains(u.Path, "live") || !isToken(method) {
			return
		}
		for _, h := range []http.Handler{o.handler, o.admin} {
			r := httptest.NewRequest(method, "/", bytes.NewReader([]byte(body))).WithContext(t.Context())
			r.URL, r.RequestURI, r.Host = u, target, "localhost"
			r.Header.Set("Content-Type", strings.ToValidUTF8(kind, ""))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Fatalf("%s %q: %d %s", method, target, w.Code, w.Body)
			}
			mustFollowDescription(method, u.EscapedPath()+"?"+u.RawQuery, w)
		}
	})
}

func isToken(method string) bool {
	return method != "" && len(method) < 20 &&
		!strings.ContainsFunc(method, func(c rune) bool { return c < 'A' || c > 'Z' })
}
