package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

const (
	oneLeaf   = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}]\n"
	twoLeaves = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}, {name: b}]}]}]\n"
)

// startServing starts a process on free ports.
func startServing(t *testing.T, file string, args ...string) (*program, *runningService) {
	t.Helper()
	p := startProgram(t, file, append([]string{"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"},
		args...)...)
	return p, connect(t, p.ready)
}

func TestServe_OnlyAdminListenerChangesConfig(t *testing.T) {
	program := buildProgram(t)
	sock := filepath.Join(t.TempDir(), "admin.sock")
	for _, listen := range []string{"127.0.0.1:0", "localhost:0", "unix:" + sock, "unix:" + sock} {
		p, s := startServing(t, program, "--admin", "--admin-listen", listen)
		code, body := s.post("/ws/v1/config", "application/yaml", twoLeaves)
		assert.Equal(t, code, http.StatusOK, body)
		assert.Assert(t, strings.Contains(body, `"generation":2`), body)
		_, body = s.get("/ws/v1/partition/default/queues")
		assert.Assert(t, strings.Contains(body, `"root.b"`), body)
		code, body = s.post("/ws/v1/config/rollback/1", "application/json", "")
		assert.Equal(t, code, http.StatusOK, body)
		_, body = s.get("/ws/v1/config/history")
		assert.Equal(t, strings.Count(body, `"generation":`), 3, body)
		code, body = s.post("/ws/v1/config", "application/yaml", "partitions: [{queues: [{name: a.b}]}]")
		assert.Equal(t, code, http.StatusBadRequest)
		assert.Assert(t, strings.Contains(body, `"line":1,"column":`), body)
		code, _ = s.do(http.MethodPost, s.http+"/ws/v1/config", twoLeaves, "Content-Type", "application/yaml")
		assert.Equal(t, code, http.StatusMethodNotAllowed)
		p.stop()
		for _, want := range []string{"configuration accepted", "configuration refused", `"source": "rollback"`} {
			assert.Assert(t, strings.Contains(p.logs.String(), want), "no %q in %s", want, &p.logs)
		}
	}
	_, err := os.Lstat(sock)
	assert.Assert(t, os.IsNotExist(err), "the socket was left behind")

	p, s := startServing(t, program)
	code, body := s.do(http.MethodPost, s.http+"/ws/v1/config", twoLeaves, "Content-Type", "application/yaml")
	assert.Equal(t, code, http.StatusMethodNotAllowed)
	assert.Assert(t, strings.Contains(body, "runs without --admin"), body)
	p.stop()
}

func TestAdminListener_LoopbackOnly(t *testing.T) {
	for _, c := range []struct{ listen, want string }{
		{"0.0.0.0:0", "can be reached from other machines"},
		{":0", "can be reached from other machines"},
		{"[::]:0", "can be reached from other machines"},
		{"192.0.2.1:9081", "use a loopback address such as 127.0.0.1:9081, or unix:/path"},
		{"example.org:9081", "can be reached from other machines"},
		{"9081", "missing port"},
		{"unix:relative.sock", "not an absolute path"},
	} {
		code, out, errs := runCanopy("serve", "--admin", "--admin-listen", c.listen)
		assert.Equal(t, code, cmdline.Usage, "%s: %s", c.listen, errs)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errs, "--admin-listen") && strings.Contains(errs, c.want), errs)
	}
	code, _, errs := runCanopy("serve", "--admin-listen", "127.0.0.1:0")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "--admin-listen needs --admin"), errs)
}
