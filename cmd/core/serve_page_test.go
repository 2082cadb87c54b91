package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

func TestServe_WebRootWithoutPageIsUsageError(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), t.TempDir()} {
		code, out, errs := runCanopy("serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--web-root",
			dir)
		assert.Equal(t, code, cmdline.Usage)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errs, "--web-root: "), errs)
	}
}

func TestServe_DemoFlagsThatDoNotFit(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{"--demo-load=2", "--demo-load needs --demo"},
		{"--demo-seed=2", "--demo-seed needs --demo"},
		{"--demo --config=queues.yaml", "--demo brings its own queues: leave out --config"},
		{"--demo --demo-load=0", "--demo-load is 0, and must be from 0.1 to 10"},
		{"--demo --demo-load=NaN", "--demo-load is NaN"},
		{"--demo --demo-load=11", "--demo-load is 11"},
	} {
		code, _, errs := runCanopy(append([]string{"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"},
			strings.Fields(c.flags)...)...)
		assert.Equal(t, code, cmdline.Usage, c.flags)
		assert.Assert(t, strings.Contains(errs, c.want), errs)
	}
}

// A whole process shows the page, and runs the demo until it is ended.
func TestServe_Demo(t *testing.T) {
	_, s := startServing(t, buildProgram(t), "--demo", "--demo-load", "0.5")
	code, body := s.get("/")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.HasPrefix(body, "<!doctype html>"), body)
	code, _ = s.get("/ws/v1/nothing")
	assert.Equal(t, code, http.StatusNotFound)
	for s.ctx.Err() == nil {
		var partitions []struct{ TotalNodes, TotalContainers int }
		_, body := s.get("/ws/v1/partitions")
		assert.NilError(t, json.Unmarshal([]byte(body), &partitions))
		if partitions[0].TotalNodes == 48 && partitions[0].TotalContainers > 20 {
			return
		}
	}
	t.Fatal("the demo does not run")
}
