package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// The memory of a server stays below 500 MiB: without the limits of rmproxy this message took
// 10.6 GB, from an unregistered RM.
func TestBenchHostile_ServerMemoryIsBounded(t *testing.T) {
	program := labProgram(t)
	spec, err := json.Marshal(workload.DefaultSpec())
	assert.NilError(t, err)
	for name, attack := range map[string]string{
		"unregistered": `"method": "UpdateAllocation", "entry": 4, "bytes": 66000000, "unregisteredRM": true`,
		"registered":   `"method": "UpdateNode", "entry": 1, "bytes": 66000000`,
	} {
		t.Run(name, func(t *testing.T) {
			if name != "unregistered" && !testscale.Full() {
				t.Skip("a quick run leaves it out; make check runs it")
			}
			job := `{"measure": "hostile", "seed": 1, "spec": ` + string(spec) + `, "self": ["` + program +
				`", "bench", "sample"], "server": "` + serverFile(t) + `",
				"hostile": {"attack": "messages", ` + attack + `}}`
			cmd := exec.CommandContext(t.Context(), program, "bench", "sample")
			// The process ends when its input does, so the input stays open.
			in, err := cmd.StdinPipe()
			assert.NilError(t, err)
			var out strings.Builder
			cmd.Stdout = &out
			assert.NilError(t, cmd.Start())
			_, err = in.Write([]byte(job + "\n"))
			assert.NilError(t, err)
			assert.NilError(t, cmd.Wait())
			var answer bench.Answer
			assert.NilError(t, json.Unmarshal([]byte(out.String()), &answer))
			assert.Assert(t, answer.Sample["attackRefused"] > 0)
			peak := answer.Sample["serverPeakMemory"]
			assert.Assert(t, peak > 0 && peak < 500<<20, "%.0f MiB", peak/(1<<20))
		})
	}
}
