package canopy_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/testing/memstore"
	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

// SEC-3, SEC-5, SEC-10: each token at each path. The admin listener has the paths of the other one.
func TestSecurity_HTTPRoles(t *testing.T) {
	s := startSecured(t)
	public, admin := "https://"+s.HTTPAddress().String(), "https://"+s.AdminAddress().String()
	for _, c := range []struct {
		method, url                      string
		anonymous, reader, shim, ops, no int // no: an unknown token
	}{
		{"GET", public + "/healthz", 200, 200, 200, 200, 200},
		{"GET", public + "/readyz", 200, 200, 200, 200, 200},
		{"GET", public + "/ws/v1/partitions", 401, 200, 403, 200, 401},
		{"GET", public + "/ws/v1/config", 401, 200, 403, 200, 401},
		{"GET", public + "/metrics", 401, 200, 403, 200, 401},
		{"GET", public + "/ws/v1/metrics", 401, 200, 403, 200, 401},
		{"GET", public + "/unknown", 401, 404, 403, 404, 401},
		{"GET", public + "/healthz/", 401, 301, 403, 301, 401},
		{"GET", public + "//healthz", 401, 307, 403, 307, 401},
		{"POST", public + "/ws/v1/config", 401, 405, 403, 405, 401},
		{"OPTIONS", public + "/ws/v1/partitions", 200, 200, 200, 200, 200},
		{"GET", admin + "/ws/v1/partitions", 401, 403, 403, 200, 401},
		{"POST", admin + "/ws/v1/config/rollback/1", 401, 403, 403, 200, 401},
		{"DELETE", admin + "/ws/v1/resourcemanager/rm-1", 401, 403, 403, 404, 401},
		{"GET", admin + "/healthz", 200, 200, 200, 200, 200},
	} {
		for token, want := range map[string]int{"": c.anonymous, "reader": c.reader, "shim": c.shim, "ops": c.ops,
			"no": c.no} {
			transport := &http.Transport{TLSClientConfig: s.tls(t), DisableKeepAlives: true}
			request, err := http.NewRequestWithContext(testContext(t), c.method, c.url, http.NoBody)
			assert.NilError(t, err)
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := transport.RoundTrip(request)
			assert.NilError(t, err)
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			assert.Equal(t, response.StatusCode, want, "%s %s with %q: %s", c.method, c.url, token, text)
			assert.Equal(t, response.StatusCode == 401, len(response.Header.Values("WWW-Authenticate")) == 2)
			if want == 401 || want == 403 {
				assert.Assert(t, strings.Contains(string(text), `"message":"not a`), "%s", text)
				assert.Assert(t, !strings.Contains(string(text), "reader, ") && !strings.Contains(string(text), "sha256"))
			}
			for _, header := range []string{"X-Content-Type-Options", "Referrer-Policy", "Cache-Control",
				"Content-Security-Policy", "X-Frame-Options"} {
				assert.Assert(t, response.Header.Get(header) != "", "%s %s has no %s", c.method, c.url, header)
			}
		}
	}
}

// SEC-10: what the settings open.
func TestSecurity_AnonymousReadAndMetrics(t *testing.T) {
	read := startSecured(t, func(o *canopy.Options) { o.Security.AnonymousRead = true })
	assert.Equal(t, read.status(t, "/ws/v1/partitions", ""), 200)
	assert.Equal(t, read.status(t, "/ws/v1/partitions", "no"), 401)
	assert.Equal(t, status.Code(register(t, read.grpc(t, ""), "rm-1")), codes.Unauthenticated)
	response, _, err := read.send(t, http.MethodPost, "https://"+read.AdminAddress().String()+"/ws/v1/config/rollback/1",
		"")
	assert.NilError(t, err)
	assert.Equal(t, response.StatusCode, 401)

	metrics := startSecured(t, func(o *canopy.Options) { o.Security.AnonymousMetrics = true })
	assert.Equal(t, metrics.status(t, "/metrics", ""), 200)
	assert.Equal(t, metrics.status(t, "/ws/v1/metrics", ""), 200)
	assert.Equal(t, metrics.status(t, "/ws/v1/partitions", ""), 401)
}

// SEC-3, SEC-5, SEC-7: calls of gRPC. A message of another ID is refused before it is decoded.
func TestSecurity_GRPCRolesAndRMs(t *testing.T) {
	s := startSecured(t)
	for _, c := range []struct {
		token, rm string
		code      codes.Code
		want      string
	}{
		{"", "rm-1", codes.Unauthenticated, "send a token"},
		{"no", "rm-1", codes.Unauthenticated, "the token is unknown"},
		{"reader", "rm-1", codes.PermissionDenied, "reader has the role read, and this needs submit"},
		{"shim", "rm-2", codes.PermissionDenied, `shim may not use the rmID "rm-2": it is bound to rm-1`},
		{"shim", "", codes.PermissionDenied, "it is bound to rm-1"},
		{"shim", "rm-1", codes.OK, ""},
	} {
		err := register(t, s.grpc(t, c.token), c.rm)
		assert.Equal(t, status.Code(err), c.code, "%s as %q: %v", c.token, c.rm, err)
		if c.want != "" {
			assert.ErrorContains(t, err, c.want)
		}
	}
	stream := func(token, rm string) error {
		t.Helper()
		nodes, err := si.NewSchedulerClient(s.grpc(t, token)).UpdateNode(testContext(t))
		assert.NilError(t, err)
		_ = nodes.Send(&si.NodeRequest{RmID: rm}) // the server may have ended the stream
		assert.NilError(t, nodes.CloseSend())
		_, err = nodes.Recv()
		return err
	}
	assert.Equal(t, status.Code(stream("", "rm-1")), codes.Unauthenticated)
	assert.Equal(t, status.Code(stream("reader", "rm-1")), codes.PermissionDenied)
	assert.Equal(t, status.Code(stream("shim", "rm-2")), codes.PermissionDenied)
	assert.Equal(t, status.Code(stream("ops", "rm-2")), codes.FailedPrecondition, "not registered")
	assert.Assert(t, stream("shim", "rm-1") == io.EOF)
	hints := func(token, rm string) error {
		t.Helper()
		waiting, err := canopyv1.NewHintsClient(s.grpc(t, token)).WaitingStates(testContext(t),
			&canopyv1.WaitingStatesRequest{RmId: rm})
		assert.NilError(t, err)
		_, err = waiting.Recv()
		return err
	}
	assert.Equal(t, status.Code(hints("", "rm-1")), codes.Unauthenticated)
	assert.Equal(t, status.Code(hints("reader", "rm-1")), codes.PermissionDenied)
	assert.Equal(t, status.Code(hints("shim", "rm-2")), codes.PermissionDenied)
	assert.Equal(t, status.Code(hints("ops", "rm-2")), codes.FailedPrecondition, "not registered")
	assert.NilError(t, hints("shim", "rm-1"))

	answer, err := healthpb.NewHealthClient(s.grpc(t, "")).Check(testContext(t), &healthpb.HealthCheckRequest{})
	assert.NilError(t, err, "a probe has no token")
	assert.Equal(t, answer.Status, healthpb.HealthCheckResponse_SERVING)

	_, body, err := s.send(t, http.MethodGet, "https://"+s.HTTPAddress().String()+"/metrics", "reader")
	assert.NilError(t, err)
	for _, want := range []string{
		`canopy_access_refused_total{reason="missing"} 3`, `canopy_access_refused_total{reason="unknown"} 1`,
		`canopy_access_refused_total{reason="role"} 3`, `canopy_access_refused_total{reason="rm"} 4`,
		"canopy_tls_certificate_expires_seconds ",
	} {
		assert.Assert(t, strings.Contains(body, "\n"+want), "no %s in %s", want, body)
	}
}

// SEC-8: certificates of clients, over both protocols.
func TestSecurity_ClientCertificates(t *testing.T) {
	s := startSecured(t, func(o *canopy.Options) { o.Security.TokensFile = "" })
	url := "https://" + s.HTTPAddress().String() + "/ws/v1/partitions"
	shim := s.clients.Client(t, "cn", testcert.Names("rm-1", "rm-2"))
	response, body, err := s.send(t, http.MethodGet, url, "", shim)
	assert.NilError(t, err)
	assert.Equal(t, response.StatusCode, 200, body)
	response, body, err = s.send(t, http.MethodGet, "https://"+s.AdminAddress().String()+"/ws/v1/partitions", "", shim)
	assert.NilError(t, err)
	assert.Equal(t, response.StatusCode, 403, body)
	response, _, err = s.send(t, http.MethodGet, url, "")
	assert.NilError(t, err)
	assert.Equal(t, response.StatusCode, 401)
	assert.NilError(t, register(t, s.grpc(t, "", shim), "rm-2"))
	assert.Equal(t, status.Code(register(t, s.grpc(t, "", shim), "rm-3")), codes.PermissionDenied)
	assert.Equal(t, status.Code(register(t, s.grpc(t, ""), "rm-2")), codes.Unauthenticated)

	others := testcert.NewAuthority(t, "others")
	for name, pair := range map[string]testcert.Pair{
		"another authority": others.Client(t, "rm-1"), "expired": s.clients.Client(t, "rm-1", testcert.Expired),
		"of a server": s.clients.Server(t),
	} {
		_, _, err := s.send(t, http.MethodGet, url, "", pair)
		assert.ErrorContains(t, err, "remote error: tls", name)
		err = register(t, s.grpc(t, "", pair), "rm-1")
		assert.Equal(t, status.Code(err), codes.Unavailable, "%s: %v", name, err)
	}
}

// SEC-1: a client without TLS reaches nothing.
func TestSecurity_PlainClientsAreRefused(t *testing.T) {
	s := startSecured(t)
	code, body := get(t, "http://"+s.HTTPAddress().String()+"/healthz")
	assert.Equal(t, code, http.StatusBadRequest)
	assert.Assert(t, strings.Contains(body, "HTTP request to an HTTPS server"), body)
	err := register(t, dial(t, s.GRPCAddress().String(), "ops", insecure.NewCredentials()), "rm-1")
	assert.Equal(t, status.Code(err), codes.Unavailable)
}

// SEC-9: a withdrawn token ends streams of both protocols, and a file that cannot be used changes nothing.
func TestSecurity_TokensChangeWhileServing(t *testing.T) {
	s := startSecured(t)
	assert.NilError(t, register(t, s.grpc(t, "shim"), "rm-1"))
	nodes, err := si.NewSchedulerClient(s.grpc(t, "shim")).UpdateNode(testContext(t))
	assert.NilError(t, err)
	assert.NilError(t, nodes.Send(&si.NodeRequest{RmID: "rm-1"}))
	request, err := http.NewRequestWithContext(testContext(t), http.MethodGet,
		"https://"+s.HTTPAddress().String()+"/ws/v1/events/stream", nil)
	assert.NilError(t, err)
	request.Header.Set("Authorization", "Bearer reader")
	events, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: s.tls(t)}}).Do(request)
	assert.NilError(t, err)
	defer events.Body.Close()
	assert.Equal(t, events.StatusCode, 200)

	s.replace(t, "tokens.yaml", []byte("- {name: reader}\n"))
	until(t, func() bool { return s.logs.FilterMessageSnippet("the file of credentials cannot be used").Len() > 0 })
	assert.Equal(t, s.status(t, "/ws/v1/partitions", "reader"), 200)

	s.replace(t, "tokens.yaml", tokensFile("ops admin\nnew read"))
	_, err = nodes.Recv()
	assert.Equal(t, status.Code(err), codes.Unauthenticated)
	assert.ErrorContains(t, err, "withdrawn")
	_, _ = io.ReadAll(events.Body) // it ends
	assert.Equal(t, s.status(t, "/ws/v1/partitions", "reader"), 401)
	assert.Equal(t, s.status(t, "/ws/v1/partitions", "new"), 200)
}

// SEC-2: a new pair is used by the next connection, and a broken one by none.
func TestSecurity_CertificatesChangeWhileServing(t *testing.T) {
	s := startSecured(t)
	serial := func() string {
		response, _, err := s.send(t, http.MethodGet, "https://"+s.HTTPAddress().String()+"/healthz", "")
		assert.NilError(t, err)
		return response.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first, next := serial(), s.servers.Server(t)
	s.replace(t, "tls.crt", []byte("broken"))
	until(t, func() bool {
		return s.logs.FilterMessageSnippet("the files of the certificate cannot be used").Len() > 0
	})
	assert.Equal(t, serial(), first)
	s.replace(t, "tls.crt", next.Cert)
	s.replace(t, "tls.key", next.Key)
	until(t, func() bool { return serial() != first })
	_, err := healthpb.NewHealthClient(s.grpc(t, "")).Check(testContext(t), &healthpb.HealthCheckRequest{})
	assert.NilError(t, err)

	others := testcert.NewAuthority(t, "others")
	s.replace(t, "ca.crt", others.PEM)
	_, _, err = s.send(t, http.MethodGet, "https://"+s.HTTPAddress().String()+"/healthz", "", s.clients.Client(t, "x"))
	until(t, func() bool {
		_, _, err = s.send(t, http.MethodGet, "https://"+s.HTTPAddress().String()+"/healthz", "", s.clients.Client(t, "x"))
		return err != nil
	})
}

// SEC-12: changes and their refusals are lines with the identity.
func TestSecurity_AuditLines(t *testing.T) {
	s := startSecured(t)
	admin := "https://" + s.AdminAddress().String()
	for path, token := range map[string]string{"/ws/v1/config/rollback/1": "ops", "/ws/v1/config/rollback/99": "ops",
		"/ws/v1/config/rollback/2": "shim"} {
		_, _, err := s.send(t, http.MethodPost, admin+path, token)
		assert.NilError(t, err)
	}
	assert.NilError(t, register(t, s.grpc(t, "shim"), "rm-1"))
	assert.Assert(t, register(t, s.grpc(t, "shim"), "rm-2") != nil)
	var got []string
	for _, e := range s.logs.FilterMessage("audit").All() {
		f := e.ContextMap()
		assert.Assert(t, strings.HasPrefix(f["peer"].(string), "127.0.0.1:"), "%v", f)
		got = append(got,
			fmt.Sprintf("%s %s %s %s: %.27s", f["identity"], f["action"], f["object"], f["outcome"], f["result"]))
	}
	for _, want := range []string{
		"ops POST /ws/v1/config/rollback/1  done: generation 1 is in force", "ops POST /ws/v1/config/rollback/99  refused: ",
		"shim register rm-1 done: ", "shim register rm-2 refused: not allowed: shim may not u",
	} {
		n := 0
		for _, line := range got {
			if strings.HasPrefix(line, want[:min(len(want), 60)]) {
				n++
			}
		}
		assert.Equal(t, n, 1, "%s in %q", want, got)
	}
	refused := s.logs.FilterMessage("access refused").All()
	assert.Equal(t, len(refused), 1)
	assert.Equal(t, refused[0].ContextMap()["action"], "POST /ws/v1/config/rollback/2")
	for _, e := range s.logs.All() {
		assert.Assert(t, !strings.Contains(fmt.Sprint(e.Message, e.ContextMap()), "Bearer ops"), "%v", e)
	}
}

// SEC-12, OPS-5: actions of operators need the role admin, and their lines have the identity, also of those that are
// refused.
func TestSecurity_OperatorsAreAudited(t *testing.T) {
	s := startSecured(t)
	base := "https://" + s.AdminAddress().String() + "/ws/v1/partition/default"
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/queue/root/drain", "ops", http.StatusOK}, {"/application/none/cancel", "ops", http.StatusNotFound},
		{"/application/none/move/root", "ops", http.StatusNotFound},
		{"/node/none/drain", "ops", http.StatusNotFound}, {"/queue/root/drain", "shim", http.StatusForbidden},
	} {
		answer, _, err := s.send(t, http.MethodPut, base+c.path, c.token)
		assert.NilError(t, err)
		assert.Equal(t, answer.StatusCode, c.status, c.path)
	}
	var got []string
	for _, e := range s.logs.FilterMessage("audit").All() {
		f := e.ContextMap()
		got = append(got, fmt.Sprintf("%s %s %s: %s", f["identity"], f["action"], f["outcome"], f["result"]))
	}
	const path = "/ws/v1/partition/default/"
	assert.DeepEqual(t, got, []string{
		"ops PUT " + path + "queue/root/drain done: ",
		"ops PUT " + path + "application/none/cancel refused: unknown application none",
		"ops PUT " + path + "application/none/move/root refused: unknown application none",
		"ops PUT " + path + "node/none/drain refused: unknown node none",
	})
	assert.Equal(t, s.logs.FilterMessage("access refused").Len(), 1)
	acted := s.logs.FilterMessage("operator acted").All()
	assert.Equal(t, len(acted), 1)
	assert.Equal(t, acted[0].ContextMap()["by"], "ops")
}

// SEC-11: with TLS and authentication the admin listener may be reached from other machines; its socket needs no token.
func TestSecurity_AdminListener(t *testing.T) {
	s := startSecured(t, func(o *canopy.Options) { o.AdminAddress = "0.0.0.0:0" })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.AdminAddress().String(), "[::]"), ":")
	url := "https://localhost:" + port + "/ws/v1/config/rollback/1"
	request, err := http.NewRequestWithContext(testContext(t), http.MethodPost, url, nil)
	assert.NilError(t, err)
	request.Host = "canopy.example.org"
	request.Header.Set("Authorization", "Bearer ops")
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Transport{TLSClientConfig: s.tls(t), DisableKeepAlives: true}).RoundTrip(request)
	assert.NilError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, response.StatusCode, 200)

	for _, missing := range []func(*canopy.Security){
		func(o *canopy.Security) { o.TokensFile, o.ClientCAFile = "", "" },
		func(o *canopy.Security) { o.CertFile, o.KeyFile, o.ClientCAFile = "", "", "" },
	} {
		opt := s.opt
		missing(&opt)
		_, err := canopy.Start(t.Context(), canopy.Options{AdminAddress: "0.0.0.0:0", Security: opt})
		assert.ErrorContains(t, err, "can be reached from other machines")
	}

	socket := filepath.Join(t.TempDir(), "admin")
	local := startSecured(t, func(o *canopy.Options) { o.AdminAddress = "unix:" + socket })
	client := unixClient(socket)
	request, err = http.NewRequestWithContext(testContext(t), http.MethodPost, "http://localhost/ws/v1/config/rollback/1",
		nil)
	assert.NilError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err = client.Do(request)
	assert.NilError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, response.StatusCode, 200)
	assert.Equal(t, local.logs.FilterMessage("audit").All()[0].ContextMap()["identity"], "socket")
}

// SEC-16: a file with secrets that others can read or change is a line that names it and its mode, for a server and for
// a member.
func TestSecurity_WarnsOfOpenFiles(t *testing.T) {
	s, opt := newSecured(t)
	testcert.Write(t, s.dir, map[string][]byte{"BindPassword": nil, "etcd.key": nil, "etcd.password": []byte("x")})
	opt.Users.LDAPSecrets = s.dir
	for file, mode := range map[string]os.FileMode{
		"tokens.yaml": 0o666, "tls.key": 0o620, "tls.crt": 0o666, "ca.crt": 0o644, "BindPassword": 0o604, "etcd.key": 0o440,
		"etcd.password": 0o602,
	} {
		assert.NilError(t, os.Chmod(s.file(file), mode))
	}
	warned := func(logs *observer.ObservedLogs) map[string]string {
		out := map[string]string{}
		for _, e := range logs.FilterMessage("other users can read or change a file with secrets").All() {
			f := e.ContextMap()
			out[filepath.Base(f["file"].(string))] = f["mode"].(string)
		}
		return out
	}
	of := map[string]string{"tokens.yaml": "-rw-rw-rw-", "tls.key": "-rw--w----", "BindPassword": "-rw----r--"}
	_, logs := start(t, opt)
	assert.DeepEqual(t, warned(logs), of)

	core, logs := observer.New(zapcore.InfoLevel)
	opt.Log = zap.New(core)
	ha := groupHA("a")
	ha.Etcd.User, ha.Etcd.PasswordFile = "canopy", s.file("etcd.password")
	m, err := canopy.StartMemberAt(testContext(t), opt, ha, new(memstore.Store), election.Now)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, m.Close()) })
	of["etcd.password"] = "-rw-----w-"
	assert.DeepEqual(t, warned(logs), of)
}

// The handler of a program has the same checks.
func TestSecurity_HandlerIsChecked(t *testing.T) {
	s := startSecured(t)
	for token, want := range map[string]int{"": 401, "reader": 200} {
		request, err := http.NewRequestWithContext(testContext(t), http.MethodGet, "/ws/v1/partitions", nil)
		assert.NilError(t, err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		assert.Equal(t, serveOnce(s.Handler(), request), want)
	}
}

// SEC-1: settings that cannot be used are errors that name them, and nothing is opened.
func TestSecurity_InvalidSettings(t *testing.T) {
	s := startSecured(t)
	other := testcert.NewAuthority(t, "x").Server(t)
	testcert.Write(t, s.dir,
		map[string][]byte{"other.key": other.Key, "empty": nil, "bad.yaml": []byte("- {name: a}\n- {name: b}\n")})
	for _, c := range []struct {
		edit func(*canopy.Security)
		want string
	}{
		{func(o *canopy.Security) { o.KeyFile = "" }, "Security.CertFile: the file of the private key is missing"},
		{func(o *canopy.Security) { o.CertFile = "" }, "Security.KeyFile: the file of the certificate is missing"},
		{func(o *canopy.Security) { o.CertFile, o.KeyFile = "", "" }, "Security.ClientCAFile: client certificates need TLS"},
		{func(o *canopy.Security) { o.KeyFile = s.file("other.key") }, "Security.CertFile: the certificate and its key"},
		{func(o *canopy.Security) { o.KeyFile = s.file("missing") }, "Security.KeyFile: open "},
		{func(o *canopy.Security) { o.ClientCAFile = s.file("empty") }, "Security.ClientCAFile: "},
		{func(o *canopy.Security) { o.TokensFile = s.file("bad.yaml") },
			"Security.TokensFile: " + s.file("bad.yaml") + ": line 1: "},
		{func(o *canopy.Security) { o.TokensFile = s.dir }, "Security.TokensFile: " + s.dir + " is a directory"},
		{func(o *canopy.Security) { *o = canopy.Security{AnonymousRead: true} }, "Security.AnonymousRead: no credentials"},
		{func(o *canopy.Security) { *o = canopy.Security{AnonymousMetrics: true} },
			"Security.AnonymousMetrics: no credentials"},
	} {
		opt := s.opt
		c.edit(&opt)
		_, err := canopy.Start(t.Context(), canopy.Options{Security: opt})
		assert.ErrorContains(t, err, c.want)
		fieldsOf(t, err)
	}
}
