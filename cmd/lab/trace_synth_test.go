package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// synthesize makes a trace in a directory of its own.
func synthesize(t *testing.T, args ...string) (nodes, pods, out string) {
	t.Helper()
	dir := t.TempDir()
	n, p := filepath.Join(dir, "nodes.csv"), filepath.Join(dir, "pods.csv")
	code, out, errs := runLab(append([]string{"trace-synth", "--out-nodes", n, "--out-pods", p}, args...)...)
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, errs, "")
	read := func(name string) string {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		return string(text)
	}
	return read(n), read(p), out
}

func TestTraceSynth_DefaultsMakeTheExample(t *testing.T) {
	nodes, pods, out := synthesize(t)
	for name, text := range map[string]string{"nodes": nodes, "pods": pods} {
		example, err := os.ReadFile("../../examples/trace/" + name + ".csv")
		assert.NilError(t, err)
		assert.Equal(t, text, string(example), "canopy-lab trace-synth makes %s.csv; copy the one to the other", name)
		assert.Assert(t, len(text) < 100_000)
	}
	assert.Assert(t, strings.HasPrefix(out, "24 nodes with 64 GPUs: "), out)
	assert.Assert(t, strings.Contains(out, "\n400 tasks, 313 of them with GPUs, submitted within 20.7 h: "), out)
}

func TestTraceSynth_InJSON(t *testing.T) {
	_, pods, out := synthesize(t, "--nodes", "3", "--tasks", "50", "--seed", "9", "--gpu-share", "0", "--qos", "BE=1",
		"--output", "json")
	assert.DeepEqual(t, fieldsOf(t, out),
		[]string{"nodes", "tasks", "gpus", "gpuTasks", "lastArrivalSeconds", "endSeconds", "tasksByQoS"})
	var s synthSummary
	assert.NilError(t, json.Unmarshal([]byte(out), &s))
	assert.Assert(t, s.LastArrival > 0 && s.End > s.LastArrival)
	s.LastArrival, s.End = 0, 0
	assert.DeepEqual(t, s, synthSummary{Nodes: 3, Tasks: 50, GPUs: 14, ByQoS: map[string]int{"BE": 50}})
	assert.Equal(t, strings.Count(pods, ",BE,"), 50)
}

// A generated trace can be replayed in both modes.
func TestTraceSynth_TraceCanBeReplayed(t *testing.T) {
	dir := t.TempDir()
	n, p := filepath.Join(dir, "nodes.csv"), filepath.Join(dir, "pods.csv")
	code, _, errs := runLab("trace-synth", "--nodes", "5", "--tasks", "120", "--seed", "2", "--gpu-spec-share", "0.2",
		"--out-nodes", n, "--out-pods", p)
	assert.Equal(t, code, 0, errs)
	for _, mode := range []string{"fill", "lifetimes"} {
		code, out, errs := runLab("replay", "--nodes", n, "--pods", p, "--mode", mode, "--output", "json")
		assert.Equal(t, code, 0, errs)
		r := readReport(t, out, "balance", "preemption")
		assert.Equal(t, r.Asks, 120)
		assert.Assert(t, r.Allocated > 20)
	}
}

func TestTraceSynth_InvalidFlagsAreRejected(t *testing.T) {
	dir := t.TempDir()
	files := []string{"--out-nodes", filepath.Join(dir, "n"), "--out-pods", filepath.Join(dir, "p")}
	for _, x := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no files", nil, cmdline.Usage, "--out-nodes names no file\n--out-pods names no file"},
		{"one file for both", []string{"--out-nodes", "a", "--out-pods", "a"}, cmdline.Usage, "name the same file, a"},
		{"no nodes", append(files, "--nodes", "0"), cmdline.Usage, "--nodes is 0, and must be from 1 to 20000"},
		{"too many tasks", append(files, "--tasks", "1000001"), cmdline.Usage,
			"--tasks is 1000001, and must be from 1 to 1000000"},
		{"no load", append(files, "--load", "0"), cmdline.Usage, "--load is 0, and must be above 0 and at most 1000"},
		{"a load that is not a number", append(files, "--load", "NaN"), cmdline.Usage, "--load is NaN"},
		{"too little load", append(files, "--load", "0.000001"), cmdline.Usage, "the tasks would arrive within"},
		{"a share above 1", append(files, "--gpu-share", "80"), cmdline.Usage, "--gpu-share is 80, and must be from 0 to 1"},
		{"a share below 0", append(files, "--shared-gpu-share", "-0.1"), cmdline.Usage, "--shared-gpu-share is -0.1"},
		{"a share that is not a number", append(files, "--gpu-spec-share", "NaN"), cmdline.Usage, "--gpu-spec-share is NaN"},
		{"an unknown class", append(files, "--qos", "Best=1"), cmdline.Usage,
			`--qos: there is no class "Best", only BE, Burstable, Guaranteed, LS`},
		{"a class twice", append(files, "--qos", "BE=1,BE=2"), cmdline.Usage, "class BE is given twice"},
		{"a weight that is not a number", append(files, "--qos", "BE=x"), cmdline.Usage,
			`the number of class BE must be a whole number of at most 64 bits, not "x"`},
		{"a negative weight", append(files, "--qos", "BE=-1,LS=2"), cmdline.Usage,
			"the weight of BE is -1, and must be from 0 to 1000000"},
		{"no weight", append(files, "--qos", "BE=0"), cmdline.Usage, "--qos gives every class the weight 0"},
		{"an unknown output format", append(files, "--output", "xml"), cmdline.Usage,
			`invalid argument "xml" for "--output" flag: it must be text or json`},
		{"a missing directory", []string{"--out-nodes", filepath.Join(dir, "x", "n"), "--out-pods", filepath.Join(dir, "p")},
			cmdline.Refused, "no such file or directory"},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := runLab(append([]string{"trace-synth"}, x.args...)...)
			assert.Equal(t, code, x.code, errs)
			assert.Equal(t, out, "")
			assert.Assert(t, strings.Contains(errs, x.want), errs)
		})
	}
}
