package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/serverprocess"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// startUsageProcess starts a server that samples each second.
func startUsageProcess(t *testing.T, dir string) *serverprocess.Process {
	t.Helper()
	p, err := serverprocess.Start(t.Context(), buildProgram(t), "serve", "--grpc-address", "127.0.0.1:0", "--http-address",
		"127.0.0.1:0",
		"--data-dir", dir, "--usage-interval", "1s")
	assert.NilError(t, err)
	t.Cleanup(func() {
		if !p.Reaped() {
			_ = p.Kill()
			_ = p.Reap()
		}
	})
	return p
}

// Usage survives a server that is killed: what was covered then is covered after the next start, and more (USG-9).
func TestServe_UsageSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	covered := func(address string) (seconds float64) {
		r, err := http.Get("http://" + address + "/ws/v1/history/usage?by=queue&since=1h")
		assert.NilError(t, err)
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		assert.NilError(t, err)
		var w dao.UsageWindow
		assert.NilError(t, json.Unmarshal(text, &w), string(text))
		return w.CoveredSeconds
	}
	untilAbove := func(address string, least float64) (seconds float64) {
		deadline := time.Now().Add(30 * time.Second)
		for seconds = covered(address); seconds <= least; seconds = covered(address) {
			assert.Assert(t, time.Now().Before(deadline), "%v seconds are covered", seconds)
			<-time.After(100 * time.Millisecond)
		}
		return seconds
	}
	first := startUsageProcess(t, dir)
	before := untilAbove(first.HTTP, 0.9)
	assert.NilError(t, first.Kill())
	_ = first.Reap() // it was killed
	second := startUsageProcess(t, dir)
	after := untilAbove(second.HTTP, before+0.9)
	assert.Assert(t, after > before)
	assert.NilError(t, second.Stop())
}
