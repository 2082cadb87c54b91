package canopy_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/testing/memstore"
	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// A wayIn is a listener at which clients reach a scheduler.
type wayIn struct {
	name    string
	url     string
	admin   bool // it serves changes
	socket  bool // only the user of the process can connect to it, by --admin-listen
	standby bool // of a member that does not lead
	client  func(*testing.T, identity) *http.Client
}

// An identity is what a client shows.
type identity struct {
	name, token string
	pair        *testcert.Pair
	roles       string // empty: it is unknown
}

var (
	healthPaths  = []string{"/healthz", "/readyz"}
	metricsPaths = []string{"/metrics", "/ws/v1/metrics"}
	// they change nothing
	readsByPost = []string{"/unknown", "/debug/pprof/symbol", "/ws/v1/partition/x/preemptions/dry-run"}
)

// refusal returns the status with which a request must be refused; 0: it must be served.
func (w *wayIn) refusal(method, path string, i identity) int {
	isPage := method == http.MethodGet && (path == "/" || path == "/js/main.js") && !w.standby
	role := "read"
	if w.admin {
		role = "admin"
	}
	switch {
	case slices.Contains(healthPaths, path), method == http.MethodOptions, isPage, w.socket:
		return 0
	case w.standby && !w.admin && !slices.Contains(metricsPaths, path): // it says where the leader is, and no more
		return 0
	case i.roles == "":
		return http.StatusUnauthorized
	case !strings.Contains(i.roles, role):
		return http.StatusForbidden
	}
	return 0
}

// A route is a method and a path, with a value for each name in it.
type route struct{ method, path string }

// routesOf returns every route of both listeners, by the description that an admin listener makes from its route table,
// OPTIONS on each path, files of the page and a path that is none.
func routesOf(t *testing.T, admin *http.Client, url string) []route {
	t.Helper()
	response, err := admin.Get(url + "/ws/v1/openapi.json")
	assert.NilError(t, err)
	defer response.Body.Close()
	var described struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	assert.NilError(t, json.NewDecoder(response.Body).Decode(&described))
	all := []route{{http.MethodGet, "/"}, {http.MethodGet, "/js/main.js"}, {http.MethodGet, "/unknown"},
		{http.MethodPost, "/unknown"}}
	for path, methods := range described.Paths {
		path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x")
		all = append(all, route{http.MethodOptions, path})
		for method := range methods {
			all = append(all, route{strings.ToUpper(method), path})
		}
	}
	assert.Assert(t, len(all) > 100, "%d routes", len(all))
	return all
}

// ask returns the answer to a request, without its body, which may be a stream.
func ask(t *testing.T, c *http.Client, w *wayIn, r route, edit func(*http.Request)) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(testContext(t), r.method, w.url+r.path, http.NoBody)
	assert.NilError(t, err)
	request.Header.Set("Content-Type", "application/json")
	edit(request)
	response, err := c.Do(request)
	assert.NilError(t, err, "%s %s %s", w.name, r.method, r.path)
	if response.ContentLength >= 0 {
		_, _ = io.Copy(io.Discard, response.Body) // the connection is used again
	}
	_ = response.Body.Close()
	return response
}

// startTwo starts two members with the same options, and returns the leader and the standby. client reaches them at
// scheme.
func startTwo(t *testing.T, opt canopy.Options, scheme string, client *http.Client) (leader, standby *canopy.Member) {
	t.Helper()
	var store memstore.Store
	var members []*canopy.Member
	for _, name := range []string{"a", "b"} {
		m, err := canopy.StartMemberAt(testContext(t), opt, groupHA(name), &store, election.Now)
		assert.NilError(t, err)
		t.Cleanup(func() { assert.NilError(t, m.Close()) })
		members = append(members, m)
	}
	until(t, func() bool {
		for i, m := range members {
			if info, _ := members[1-i].Leader(); info.GRPC != m.GRPCAddress().String() {
				continue
			}
			response, err := client.Get(scheme + "://" + m.HTTPAddress().String() + "/readyz")
			if err != nil {
				continue // the connection was handed over
			}
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				leader, standby = m, members[1-i]
			}
		}
		return leader != nil
	})
	return leader, standby
}

// securedWays are all ways to a scheduler with TLS, tokens and client certificates.
func securedWays(t *testing.T) (ways []*wayIn, s *secured) {
	t.Helper()
	s, opt := newSecured(t)
	core, logs := observer.New(zapcore.InfoLevel)
	opt.Log, s.logs = zap.New(core), logs
	testcert.Write(t, s.dir, map[string][]byte{
		"tokens.yaml": append(tokensFile(threeTokens), "- {name: auditor, role: read, certificate: auditor}\n"...),
	})
	overTLS := func(t *testing.T, i identity) *http.Client {
		var pairs []testcert.Pair
		if i.pair != nil {
			pairs = append(pairs, *i.pair)
		}
		return &http.Client{Transport: &http.Transport{TLSClientConfig: s.tls(t, pairs...)}}
	}
	over := func(socket string) func(*testing.T, identity) *http.Client {
		return func(*testing.T, identity) *http.Client { return unixClient(socket) }
	}
	both := func(name string, public, admin net.Addr, standby bool) {
		ways = append(ways,
			&wayIn{name: name, url: "https://" + public.String(), standby: standby, client: overTLS},
			&wayIn{name: name + ", admin", url: "https://" + admin.String(), admin: true, standby: standby, client: overTLS})
	}
	s.Server, _ = start(t, opt)
	both("alone", s.HTTPAddress(), s.AdminAddress(), false)

	leader, standby := startTwo(t, opt, "https", overTLS(t, identity{}))
	both("leader", leader.HTTPAddress(), leader.AdminAddress(), false)
	both("standby", standby.HTTPAddress(), standby.AdminAddress(), true)

	dir := t.TempDir()
	opt.AdminAddress = "unix:" + filepath.Join(dir, "admin")
	start(t, opt)
	ways = append(ways,
		&wayIn{name: "socket of the admin listener", url: "http://localhost", admin: true, socket: true,
			client: over(filepath.Join(dir, "admin"))})

	on, err := net.Listen("unix", filepath.Join(dir, "program"))
	assert.NilError(t, err)
	program := &http.Server{Handler: s.Handler()}
	go func() { _ = program.Serve(on) }()
	t.Cleanup(func() { _ = program.Close() })
	ways = append(ways,
		&wayIn{name: "handler in a program with a socket of its own", url: "http://localhost",
			client: over(filepath.Join(dir, "program"))})
	return ways, s
}

// SEC-3, SEC-5, SEC-10, SEC-11, HA-8: no way to a scheduler is open to an identity that may not use it. A new route is
// in the table that this test reads, and so is a new way where the listeners of a server are made.
func TestAccess_EveryRouteForEveryIdentityAndWayIn(t *testing.T) {
	ways, s := securedWays(t)
	auditor, stranger := s.clients.Client(t, "auditor"), s.clients.Client(t, "stranger")
	identities := []identity{
		{name: "nobody"}, {name: "an unknown token", token: "no"}, {name: "an unknown certificate", pair: &stranger},
		{name: "role read", token: "reader", roles: "read"},
		{name: "role read by certificate", pair: &auditor, roles: "read"},
		{name: "role submit", token: "shim", roles: "submit"}, {name: "role admin", token: "ops", roles: "admin read submit"},
	}
	socket := ways[slices.IndexFunc(ways, func(w *wayIn) bool { return w.socket })]
	routes := routesOf(t, socket.client(t, identity{}), socket.url)
	for _, w := range ways {
		for _, i := range identities {
			if i.pair != nil && !strings.HasPrefix(w.url, "https:") {
				continue
			}
			client := w.client(t, i)
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			for _, r := range routes {
				response := ask(t, client, w, r, func(request *http.Request) {
					if i.token != "" {
						request.Header.Set("Authorization", "Bearer "+i.token)
					}
				})
				got := response.StatusCode
				if got != http.StatusUnauthorized && got != http.StatusForbidden {
					got = 0
				}
				assert.Check(t, got == w.refusal(r.method, r.path, i), "%s: %s %s of %s: status %d", w.name, r.method, r.path,
					i.name, response.StatusCode)
			}
			client.CloseIdleConnections()
		}
	}
	audited := map[string]int{}
	for _, e := range s.logs.FilterMessage("audit").All() {
		peer, _, _ := strings.Cut(e.ContextMap()["peer"].(string), ":")
		audited[e.ContextMap()["identity"].(string)+" at "+peer]++
	}
	const withoutCertificate = 5 // identities
	changes := audited["socket at socket"] / withoutCertificate
	assert.Assert(t, changes > 10)
	assert.DeepEqual(t, audited, map[string]int{ // alone and leader
		"socket at socket": withoutCertificate * changes, "ops at 127.0.0.1": 2 * changes,
	})
}

// RST-2, RST-4, OBS-76, OBS-77: a web page of another name or origin reads and changes nothing, also where its browser
// is on the same machine and no credentials are needed.
func TestAccess_EveryRouteForForeignHostsAndOrigins(t *testing.T) {
	ways, _ := securedWays(t)
	socket := ways[slices.IndexFunc(ways, func(w *wayIn) bool { return w.socket })]
	routes := routesOf(t, socket.client(t, identity{}), socket.url)
	// the program checks the host
	ways = slices.DeleteFunc(ways, func(w *wayIn) bool { return strings.HasPrefix(w.name, "handler") })
	plain := canopy.Options{GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}, AdminAddress: free}
	alone, _ := start(t, plain)
	client := func(*testing.T, identity) *http.Client { return &http.Client{Transport: new(http.Transport)} }
	leader, standby := startTwo(t, plain, "http", client(t, identity{}))
	for _, m := range []listening{alone, leader, standby} {
		ways = append(ways,
			&wayIn{name: "without TLS", url: "http://" + m.HTTPAddress().String(), standby: m == standby, client: client},
			&wayIn{name: "without TLS, admin", url: "http://" + m.AdminAddress().String(), admin: true, standby: m == standby,
				client: client})
	}
	for _, w := range ways {
		secure := strings.HasPrefix(w.url, "https:") || w.socket
		c := w.client(t, identity{})
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, r := range routes {
			isPage := r.method == http.MethodGet && (r.path == "/" || r.path == "/js/main.js") && !w.standby
			isProbe := slices.Contains(healthPaths, r.path) || slices.Contains(metricsPaths, r.path)
			authorized := func(request *http.Request) { request.Header.Set("Authorization", "Bearer ops") }
			got := ask(t, c, w, r, func(request *http.Request) {
				authorized(request)
				request.Host = "evil.example"
			}).StatusCode
			switch {
			case !w.admin && !isProbe:
				assert.Check(t, got == http.StatusMisdirectedRequest, "%s: %s %s of another host: status %d", w.name, r.method,
					r.path, got)
			case w.admin && !secure && !isPage:
				assert.Check(t, got == http.StatusForbidden, "%s: %s %s of another host: status %d", w.name, r.method, r.path, got)
			}
			response := ask(t, c, w, r, func(request *http.Request) {
				authorized(request)
				request.Header.Set("Origin", "https://evil.example")
			})
			assert.Check(t, response.Header.Get("Access-Control-Allow-Origin") == "", "%s: %s %s", w.name, r.method, r.path)
			changes := w.admin && !w.standby &&
				slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete}, r.method)
			if got := response.StatusCode; changes && !slices.Contains(readsByPost, r.path) {
				assert.Check(t, got == http.StatusForbidden, "%s: %s %s of another origin: status %d", w.name, r.method, r.path,
					got)
			}
		}
		c.CloseIdleConnections()
	}
}

// listening is a Server or a Member.
type listening interface {
	HTTPAddress() net.Addr
	AdminAddress() net.Addr
}
