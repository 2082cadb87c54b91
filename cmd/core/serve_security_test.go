package main

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
)

// The flags of a server that other machines can reach, and of its clients.
type secureFiles struct {
	dir            string
	server, client []string // flags
	clients        *testcert.Authority
}

func (s *secureFiles) file(name string) string { return filepath.Join(s.dir, name) }

// newSecureFiles makes certificates, and tokens in the files ROLE.token.
func newSecureFiles(t *testing.T) *secureFiles {
	t.Helper()
	s := &secureFiles{dir: t.TempDir(), clients: testcert.NewAuthority(t, "clients")}
	ca := testcert.NewAuthority(t, "servers")
	pair := ca.Server(t)
	testcert.Write(t, s.dir,
		map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": ca.PEM, "clients.crt": s.clients.PEM})
	for _, role := range []string{"read", "submit", "admin"} {
		code, out, errs := runCanopy("token", "new", "--name", role+"er", "--role", role, "--append", s.file("tokens.yaml"))
		assert.Equal(t, code, 0, errs)
		assert.Equal(t, strings.Count(out, "\n"), 1, "only the token")
		testcert.Write(t, s.dir, map[string][]byte{role + ".token": []byte(out)})
	}
	s.server = []string{
		"--tls-cert", s.file("tls.crt"), "--tls-key", s.file("tls.key"), "--tokens", s.file("tokens.yaml"), "--tls-client-ca",
		s.file("clients.crt"),
	}
	s.client = []string{"--ca-cert", s.file("ca.crt")}
	return s
}

// SEC-1: an address beyond loopback needs TLS and authentication, or --insecure.
func TestServe_RefusesOpenAddressesWithoutSecurity(t *testing.T) {
	s := newSecureFiles(t)
	tls, tokens := s.server[:4], s.server[4:6]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--grpc-address", "0.0.0.0:0"},
			"--grpc-address: other machines can reach 0.0.0.0:0, which needs TLS (--tls-cert and --tls-key) and " +
				"authentication (--tokens or --tls-client-ca), or --insecure"},
		{[]string{"--http-address", ":0"}, "--http-address: other machines can reach :0"},
		{[]string{"--http-address", "[::]:0"}, "--http-address"},
		{[]string{"--http-address", "192.0.2.1:9080"}, "--http-address"},
		{[]string{"--http-address", "example.org:9080"}, "--http-address"},
		{[]string{"--http-address", "127.0.0.1.example.org:9080"}, "--http-address"},
		{append([]string{"--http-address", ":0"}, tls...),
			"which needs authentication (--tokens or --tls-client-ca), or --insecure"},
		{append([]string{"--http-address", ":0"}, tokens...), "which needs TLS (--tls-cert and --tls-key), or --insecure"},
		{tls[:2], "--tls-cert: the file of the private key is missing"},
		{[]string{"--tokens", s.file("missing")}, "--tokens: open "},
		{[]string{"--anonymous-read"}, "--anonymous-read: no credentials are required"},
		{[]string{"--tls-client-ca", s.file("clients.crt")}, "--tls-client-ca: client certificates need TLS"},
	} {
		// A server that starts in spite of the check ends because of its missing configuration.
		code, out, errs := runCanopy(append([]string{"serve", "--config", s.file("missing.yaml")}, c.args...)...)
		assert.Equal(t, code, cmdline.Usage, "%s: %s", c.args, errs)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errs, c.want), "no %q in %s", c.want, errs)
	}
	for _, c := range []struct {
		args  []string
		warns int
	}{
		{[]string{"--grpc-address", "localhost:0", "--http-address", "[::1]:0"}, 0},
		{[]string{"--grpc-address", "0.0.0.0:0", "--insecure"}, 1},
		{append([]string{"--grpc-address", "0.0.0.0:0", "--http-address", "0.0.0.0:0"}, s.server...), 0},
	} {
		p := startProgram(t, buildProgram(t),
			append([]string{"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"}, c.args...)...)
		p.stop()
		assert.Equal(t, strings.Count(p.logs.String(), "although it is not secure"), c.warns, "%s\n%s", c.args, &p.logs)
	}
}

// SEC-15: each client with each of its mistakes, and what it says.
func TestClients_CredentialsAndTLS(t *testing.T) {
	s := newSecureFiles(t)
	p, service := startServing(t, buildProgram(t), s.server...)
	defer p.stop()
	_, plain := startServing(t, buildProgram(t))
	rest, rpc := strings.TrimPrefix(service.http, "http://"), service.conn.Target()
	shim := s.clients.Client(t, "canopy-sim")
	other := testcert.NewAuthority(t, "others").Client(t, "x")
	testcert.Write(t, s.dir, map[string][]byte{
		"shim.crt": shim.Cert, "shim.key": shim.Key, "other.crt": other.Cert, "other.key": other.Key,
		"no.token": []byte("x\n"), "two.token": []byte("a b"), "empty.token": nil,
	})
	queues := writeTempFile(t, "queues.yaml", "partitions: [{queues: [{name: root}]}]\n")
	token := func(name string) []string {
		return append([]string{"--token-file", s.file(name + ".token")}, s.client...)
	}
	readers := [][]string{{"events"}, {"explain", "x"}, {"preempt", "--list"}, {"plan", "--config", queues}, {"queues"},
		{"apps"}, {"nodes"}, {"top", "--watch=0"}, {"usage", "--by", "queue"}}
	for _, reader := range readers {
		for _, c := range []struct {
			flags []string
			want  string // of standard error; empty: the server has answered
		}{
			{token("read"), ""},
			{token("admin"), ""},
			{token("submit"), "submiter has the role submit, and this needs read"},
			{token("no"),
				"the token is unknown\nThe server needs credentials: give --token-file (or CANOPY_TOKEN_FILE), or --client-cert"},
			{s.client,
				"send a token (authorization: Bearer TOKEN), or use a client certificate\nThe server needs credentials: give " +
					"--token-file"},
			{nil, " speaks TLS: give --ca-cert with its authority, or --tls"},
			{[]string{"--tls"},
				"is not accepted: x509: certificate signed by unknown authority\nGive the file of its authority with --ca-cert"},
			{[]string{"--ca-cert", s.file("clients.crt")}, "is not accepted: x509: "},
			{[]string{"--ca-cert", s.file("tokens.yaml")}, "--ca-cert: the file has no certificate"},
			{append([]string{"--client-cert", s.file("other.crt"), "--client-key", s.file("other.key")}, s.client...),
				"credentials"},
			{[]string{"--client-cert", s.file("shim.crt")}, "--client-cert needs --client-key"},
			{[]string{"--client-key", s.file("shim.crt")}, "--client-key needs --client-cert"},
			{token("two"), "has no token, which is one word"},
			{token("empty"), "has no token, which is one word"},
			{token("missing"), "--token-file: open "},
		} {
			_, out, errs := runCanopy(append(append(append([]string{}, reader...), "--address", rest), c.flags...)...)
			if c.want == "" {
				assert.Assert(t, !strings.Contains(errs, "needs credentials") && !strings.Contains(errs, " role ") &&
					!strings.Contains(errs, "speak"), "%s: %s%s", reader, out, errs)
				continue
			}
			assert.Assert(t, strings.Contains(errs, c.want), "%s %s: no %q in %s", reader, c.flags, c.want, errs)
			assert.Assert(t, !strings.Contains(errs, "http://"), errs)
		}
		_, _, errs := runCanopy(append(append([]string{}, reader...), "--address", strings.TrimPrefix(plain.http, "http://"),
			"--tls")...)
		assert.Assert(t, strings.Contains(errs, "does not speak TLS"), errs)
	}
	t.Setenv(cmdline.TokenFileVariable, s.file("read.token"))
	code, _, errs := runCanopy(append([]string{"events", "--address", rest}, s.client...)...)
	assert.Equal(t, code, 0, errs)
	_, _, errs = runCanopy("events", "--address", "192.0.2.1:9080")
	assert.Assert(t, strings.Contains(errs, "CANOPY_TOKEN_FILE: the token would be sent to 192.0.2.1:9080 without TLS"),
		errs)
	t.Setenv(cmdline.TokenFileVariable, "")

	for _, c := range []struct {
		flags []string
		want  string
	}{
		{token("submit"), ""},
		{token("read"), "reader has the role read, and this needs submit"},
		{token("no"), "the token is unknown"},
		{[]string{"--tls"}, "certificate signed by unknown authority"},
		{s.client, "send a token (authorization: Bearer TOKEN), or use a client certificate\nThe server needs credentials"},
		{nil, "Does the server speak TLS?"},
	} {
		out, err := exec.Command(buildOther(t, "cmd/lab"), append([]string{"conformance", "--run", "registration/*",
			"--timeout", "5s", "--address", rpc}, c.flags...)...).CombinedOutput()
		assert.Equal(t, err == nil, c.want == "", "%s: %s", c.flags, out)
		assert.Assert(t, strings.Contains(string(out), c.want), "%s: no %q in %s", c.flags, c.want, out)
	}
}

// The example shim sends its token over TLS.
func TestServe_ExampleShimWithCredentials(t *testing.T) {
	s := newSecureFiles(t)
	p, service := startServing(t, buildProgram(t), s.server...)
	defer p.stop()
	shim := func(token string) (string, error) {
		out, err := exec.Command(buildShim(t, "shim-go"), "--address", service.conn.Target(), "--ca-cert", s.file("ca.crt"),
			"--token-file", s.file(token+".token")).CombinedOutput()
		return string(out), err
	}
	out, err := shim("submit")
	assert.NilError(t, err, out)
	assert.Equal(t, strings.Count(out, "released: "), 4, out)
	out, err = shim("read")
	assert.Assert(t, err != nil && strings.Contains(out, "reader has the role read, and this needs submit"), out)
}

// The admin listener of a server with credentials: TLS, and the role.
func TestServe_AdminNeedsItsRole(t *testing.T) {
	s := newSecureFiles(t)
	p, service := startServing(t, buildProgram(t),
		append([]string{"--admin", "--admin-listen", "unix:" + s.file("admin.sock")}, s.server...)...)
	code, body := service.post("/ws/v1/config", "application/yaml", twoLeaves)
	assert.Equal(t, code, http.StatusOK, body)
	p.stop()
	assert.Assert(t, strings.Contains(p.logs.String(), `audit	{"identity": "socket"`), p.logs.String())
}

func TestToken_NewAndCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	code, out, errs := runCanopy("token", "new", "--name", "shim", "--role", "submit", "--rm-id", "a: b")
	assert.Equal(t, code, 0, errs)
	token, entry, _ := strings.Cut(out, "\n")
	assert.Assert(t, strings.HasPrefix(token, "canopy_"), out)
	assert.Assert(t, strings.HasPrefix(entry, "- {name: shim, role: submit, rmID: 'a: b', hash: 'sha256:") &&
		!strings.Contains(entry, token), entry)
	testcert.Write(t, filepath.Dir(file), map[string][]byte{"tokens.yaml": []byte(strings.TrimSpace(entry))})
	for _, name := range []string{"shim", "prometheus"} {
		role, rm := "submit", "a: b"
		if name == "prometheus" {
			role, rm = "read", ""
		}
		code, _, errs = runCanopy("token", "new", "--name", name, "--role", role, "--rm-id", rm, "--append", file)
		assert.Equal(t, code, 0, errs)
	}
	code, out, errs = runCanopy("token", "check", file)
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, out, "prometheus: read, a token\nshim: submit, a token, rmID a: b\nshim: submit, a token, rmID a: b\n")

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"new", "--role", "read"}, cmdline.Usage, "--name: no name"},
		{[]string{"new", "--name", "x"}, cmdline.Usage, "--role is missing: it is read, submit or admin"},
		{[]string{"new", "--name", "x", "--role", "root"}, cmdline.Usage, `role is "root"`},
		{[]string{"new", "--name", "x", "--role", "read", "--rm-id", "y"}, cmdline.Usage, "rmID is for the role submit"},
		{[]string{"new", "--name", "a\nb", "--role", "read"}, cmdline.Usage, "cannot be printed"},
		{[]string{"new", "--name", "shim", "--role", "admin", "--append", file}, cmdline.Refused,
			file + " is not changed: line 4: shim has another role"},
		{[]string{"new", "--name", "x", "--role", "read", "--append", filepath.Join(file, "x")}, cmdline.Refused,
			"--append: "},
		{[]string{"check"}, cmdline.Usage, "takes one argument"},
		{[]string{"check", file + "x"}, cmdline.Usage, "no such file"},
		{[]string{"check", writeTempFile(t, "bad.yaml", "- {name: x}\n")}, cmdline.Refused, "bad.yaml: line 1: role is"},
	} {
		code, out, errs := runCanopy(append([]string{"token"}, c.args...)...)
		assert.Equal(t, code, c.code, "%s: %s", c.args, errs)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errs, c.want), "%s: no %q in %s", c.args, c.want, errs)
	}
}
