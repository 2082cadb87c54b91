package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// No command takes an answer for its own that is not: null, or the object of another program (OPS-6).
func TestClientCommands_RefuseAnswersOfAnotherKind(t *testing.T) {
	ask := filepath.Join(t.TempDir(), "ask.yaml")
	assert.NilError(t, os.WriteFile(ask, []byte("allocationKey: k\n"), 0o600))
	config := filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(config, []byte("partitions: [{queues: [{name: root, submitacl: '*'}]}]"), 0o600))
	for _, body := range []string{"null", `{"status":"ok"}`, `[null]`, `[]`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		defer s.Close()
		for _, command := range []string{
			"top --watch=0", "queues", "usage", "queue stop root.a", "queue drain root.a", "queue start root.a", "app hold a",
			"app release a",
			"app cancel a", "app move a root.b", "node cordon n", "node drain n", "node uncordon n", "events --since 1m",
			"explain k",
			"explain --application a", "preempt --list", "preempt --show 1", "preempt --dry-run --ask " + ask,
			"plan --config " + config, "nodes", "apps", "validate " + config,
		} {
			if body == "[]" && strings.Contains("nodes apps validate", strings.Fields(command)[0]) {
				continue // there may be none
			}
			args := append(strings.Fields(command), "--address", strings.TrimPrefix(s.URL, "http://"))
			code, out, errs := runCanopy(args...)
			assert.Assert(t, code == cmdline.Refused || code == cmdline.Usage, "%v of %s: code %d\n%s%s", args, body, code, out,
				errs)
			assert.Equal(t, out, "", "%v of %s", args, body)
			assert.Assert(t, strings.HasPrefix(errs, "canopy: ") && !strings.Contains(errs, "panic"), "%v of %s: %s", args, body,
				errs)
		}
	}
}
