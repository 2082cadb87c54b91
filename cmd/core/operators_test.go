package main

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// Operators act by command, and a server that was killed has what they have switched when it is back (OPS-4, OPS-6).
func TestOperatorCommands_AreKeptOverARestart(t *testing.T) {
	program, data := buildProgram(t), filepath.Join(t.TempDir(), "data")
	serve := []string{"--admin", "--admin-listen", "127.0.0.1:0", "--data-dir", data}
	p, s := startServing(t, program, serve...)
	admin := strings.TrimPrefix(s.admin, "http://")
	code, body := s.post("/ws/v1/config", "application/yaml", twoLeaves)
	assert.Equal(t, code, 200, body)
	for _, want := range []string{"queue root.b was stopped\n", "queue root.b was stopped before\n"} {
		code, out, errs := runCanopy("queue", "stop", "root.b", "--address", admin)
		assert.Equal(t, errs, "")
		assert.Equal(t, code, 0)
		assert.Equal(t, out, want)
	}
	code, out, _ := runCanopy("queue", "stop", "root.a", "--address", admin, "-o", "json")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, `"changed": true`), out)
	assert.NilError(t, p.cmd.Process.Kill())
	_, _ = p.cmd.Process.Wait()

	p, s = startServing(t, program, serve...)
	admin = strings.TrimPrefix(s.admin, "http://")
	_, body = s.get("/ws/v1/partition/default/operators")
	assert.Assert(t, strings.Contains(body, `"stopped":["root.a","root.b"]`), body)
	_, body = s.get("/ws/v1/partition/default/queue/root.b")
	assert.Assert(t, strings.Contains(body, `"status":"Stopped"`), body)
	code, out, _ = runCanopy("queue", "start", "root.b", "--address", admin)
	assert.Equal(t, code, 0)
	assert.Equal(t, out, "queue root.b was started\n")
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{[]string{"app", "hold", "none", "--address", admin}, cmdline.Refused,
			"canopy: unknown application none\n"},
		{[]string{"app", "cancel", "none", "--address", admin}, cmdline.Refused,
			"canopy: unknown application none\n"},
		{[]string{"app", "move", "none", "root.a", "--address", admin}, cmdline.Refused,
			"canopy: unknown application none\n"},
		{[]string{"app", "move", "none", "--address", admin}, cmdline.Usage,
			"canopy: app move takes two arguments: APPLICATION QUEUE\n"},
		{[]string{"node", "cordon", "none", "--address", admin}, cmdline.Refused, "canopy: unknown node none\n"},
		{[]string{"node", "drain", "none", "--address", admin}, cmdline.Refused, "canopy: unknown node none\n"},
		{[]string{"queue", "stop", "root", "--partition", "other", "--address", admin}, cmdline.Refused,
			"canopy: unknown partition other\n"},
		{[]string{"queue", "stop", "root", "--address", strings.TrimPrefix(s.http, "http://")}, cmdline.Refused,
			"canopy: operators act on the admin listener only\n"},
		{[]string{"queue", "drain", "root.none", "--address", admin}, cmdline.Refused, "canopy: unknown queue root.none\n"},
		{[]string{"queue", "stop", "--address", admin}, cmdline.Usage, "canopy: queue stop takes one argument: QUEUE\n"},
		{[]string{"queue", "stop", "root", "--address", "x"}, cmdline.Usage, ""},
		{[]string{"queue", "stop", "root", "--output", "xml"}, cmdline.Usage, ""},
		{[]string{"queue", "stop", "root", "--address", "127.0.0.1:1"}, cmdline.Refused, ""},
	} {
		code, out, errs := runCanopy(c.args...)
		assert.Equal(t, code, c.code, "%v: %s", c.args, errs)
		assert.Equal(t, out, "")
		assert.Assert(t, errs != "" && strings.HasPrefix(errs, c.errs), "%v: %s", c.args, errs)
	}
	p.stop()
}
