package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
)

// A replay is recorded with its virtual time, and compared with a smaller max, more nodes and nothing changed.
func TestWhatIf_OfAReplay(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	rec, narrow, page := filepath.Join(dir, "rec"), filepath.Join(dir, "narrow.yaml"), filepath.Join(dir, "page.html")
	assert.NilError(t, os.WriteFile(narrow, []byte(strings.Replace(narrowYAML, "vcore: 100", "vcore: 8", 1)), 0o600))
	code, _, errs := replaySample("--mode", "durations", "--record", rec)
	assert.Equal(t, code, 0, errs)

	code, out, errs := runLab("recording", "play", rec)
	assert.Equal(t, code, 0, errs)
	assert.Assert(t, strings.Contains(out, "equal: "), out)

	compare := func(args ...string) whatif.Comparison {
		t.Helper()
		code, out, errs := runLab(append([]string{"what-if", rec, "--output", "json"}, args...)...)
		assert.Equal(t, code, 0, errs)
		var all []whatif.Comparison
		assert.NilError(t, json.Unmarshal([]byte(out), &all))
		assert.Equal(t, len(all), 1)
		return all[0]
	}
	same := compare()
	assert.Assert(t, same.Same && same.Recorded.All.Asks > 10, "%+v", same.Recorded.All)
	assert.DeepEqual(t, same.Recorded, same.Changed)
	less := compare("--config", narrow, "--html", page)
	assert.Assert(t, !less.Same && less.Changed.All.Rejected+less.Changed.All.Waiting+int(less.Changed.All.Wait.Max) > 0,
		"%+v", less.Changed.All)
	html, err := os.ReadFile(page)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(html), "root.ls"))

	code, out, errs = runLab("what-if", rec, "--config", narrow)
	assert.Equal(t, code, 0, errs)
	assert.Assert(t, strings.Contains(out, "changed: another configuration") && strings.Contains(out, "assumptions:"), out)
}

func TestWhatIf_WrongInput(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.yaml")
	assert.NilError(t, os.WriteFile(wrong, []byte("partitions: ["), 0o600))
	for want, args := range map[string][]string{
		"what-if takes one argument, the DIRECTORY of --record": {"what-if"},
		"no such file or directory":                             {"what-if", filepath.Join(dir, "absent")},
		`--nodes: "20" is no change of nodes`:                   {"what-if", dir, "--nodes", "20"},
		"flag: it must be text or json":                         {"what-if", dir, "--output", "yaml"},
		"--at":                                                  {"what-if", dir, "--at", "yesterday"},
		"has 1 error":                                           {"what-if", dir, "--config", wrong},
		"--record is for one scheduler": {"replay", "--nodes", sampleNodes, "--pods", samplePods,
			"--record", dir, "--preemption", "compare"},
	} {
		code, _, errs := runLab(args...)
		assert.Assert(t, code != 0, "%v", args)
		assert.Assert(t, strings.Contains(errs, want), "%v: %s", args, errs)
	}
}
