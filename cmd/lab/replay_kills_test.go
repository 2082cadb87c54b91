package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Processes that are killed during a replay lose no task and place none twice: as many are placed as without kills, and
// on the same nodes.
func TestReplay_KillCore(t *testing.T) {
	defer goleak.VerifyNone(t)
	for mode, restarts := range map[string]int{"fill": 7, "lifetimes": 13} {
		t.Run(mode, func(t *testing.T) {
			decisions := filepath.Join(t.TempDir(), "decisions")
			code, out, errs := replaySample("--mode", mode, "--kill-core-every", "12", "--canopy", serverFile(t), "--decisions",
				decisions, "--output", "json")
			assert.Equal(t, code, 0, errs)
			var r replayReport
			assert.NilError(t, json.Unmarshal([]byte(out), &r))
			assert.Equal(t, r.Asks, 80)
			assert.Equal(t, r.Kills.Every, 12)
			assert.Equal(t, r.Kills.PlacedWithout, r.Allocated)
			assert.Equal(t, r.Kills.SameNode, r.Allocated)
			assert.Assert(t, r.Kills.Restarts >= restarts, "%d restarts", r.Kills.Restarts)
			assert.Equal(t, len(r.Kills.Recoveries), r.Kills.Restarts)
			for _, x := range r.Kills.Recoveries[2:] { // the nodes and applications are accepted
				assert.Assert(t, x.Nodes == 12 && x.Applications == 80, "%+v", x)
				assert.Assert(t, x.RestartMillis > 0 && x.RecoveryMillis > 0, "%+v", x)
			}
			assert.Equal(t, strings.Count(errs, "kill "), r.Kills.Restarts, errs)
			want, err := os.ReadFile("../../internal/lab/sim/testdata/" + mode + ".txt")
			assert.NilError(t, err)
			got, err := os.ReadFile(decisions)
			assert.NilError(t, err)
			assert.Equal(t, string(got), string(want))
		})
	}
}

// Preemption that the configuration allows is no reason to refuse kills if it is off.
func TestReplay_KillCoreWithoutPreemption(t *testing.T) {
	defer goleak.VerifyNone(t)
	code, out, errs := replayContested("--preemption", "off", "--kill-core-every", "30",
		"--canopy", serverFile(t))
	assert.Equal(t, code, 0, errs)
	for _, want := range []string{
		"\nthe scheduler was killed ", " times, after every 30 answers\nrestart         ", "\nrecovery        ",
		" were placed without kills, ", " of them on the same node\n",
	} {
		assert.Assert(t, strings.Contains(out, want), "%q in\n%s", want, out)
	}
}

func TestReplayKills_OtherNumberOfPlacements(t *testing.T) {
	placed := []sim.Event{{Kind: sim.Placed, Key: "a", Node: "n1"}, {Kind: sim.Placed, Key: "b", Node: "n1"},
		{Kind: sim.Released, Key: "b", Node: "n1"}}
	k := newReplayKills(10, []sim.Recovery{{Nodes: 1, Restart: time.Millisecond, Report: 2500 * time.Microsecond}})
	k.compare([]sim.Event{{Kind: sim.Placed, Key: "a", Node: "n2"}, {Kind: sim.Placed, Key: "b", Node: "n1"}}, placed)
	assert.Equal(t, k.PlacedWithout, 2)
	assert.Equal(t, k.SameNode, 1)
	assert.Equal(t, k.RecoveryMillis.P99, 2.5)
	assert.NilError(t, k.check(2))
	assert.Error(t, k.check(1), "1 tasks were placed with 1 kills, and 2 without kills")
}

// A scheduler that ends by itself is not taken for one that was killed.
func TestCoreProcess_EndedByItself(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, err := startCore(t.Context(), serverFile(t), queuesyaml.DefaultOptions())
	assert.NilError(t, err)
	assert.NilError(t, p.Signal(syscall.SIGQUIT)) // prints a trace
	_, err = p.Restart(t.Context())
	assert.ErrorContains(t, err, "the scheduler ended before it was killed: exit status 2\nits log: ")
	assert.ErrorContains(t, err, "SIGQUIT")
	assert.NilError(t, p.close(), "Restart has said it")
}

func TestCoreProcess_KillIsNoError(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, err := startCore(t.Context(), serverFile(t), queuesyaml.DefaultOptions())
	assert.NilError(t, err)
	first := p.GRPC
	assert.NilError(t, p.Kill())
	second, err := p.Restart(t.Context())
	assert.NilError(t, err)
	assert.Assert(t, first != "" && second != "" && p.HTTP != second, "%s %s", first, second)
	assert.NilError(t, p.close())
}

// A scheduler that does not become ready is an error with the reason, or that of the caller.
func TestCoreProcess_NotReady(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := &coreProcess{args: []string{serverFile(t), "serve", "--grpc-address", "nowhere"}}
	assert.ErrorContains(t, p.start(t.Context()),
		"the scheduler did not become ready: EOF\nexit status 2\nits log: canopy: ")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := startCore(ctx, serverFile(t), queuesyaml.DefaultOptions())
	assert.ErrorIs(t, err, context.Canceled)
}
