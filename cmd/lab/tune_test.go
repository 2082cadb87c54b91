package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// crowdedYAML lets the queues of the sample compete for a few cores.
const crowdedYAML = `
partitions:
  - name: default
    preemption: {enabled: false}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: ls # services
          - {name: be}
          - {name: burstable}
          - {name: guaranteed}
`

// tuneResult is the JSON of 'canopy-lab tune'.
type tuneResult struct {
	Status   string
	Base     struct{ Figures []float64 }
	Trials   []any
	Proposal struct {
		Change  []map[string]string
		Figures []float64
	}
	Diff    []string
	Reasons []string
}

// The file of --write gives, with what-if, the figures that tune has printed.
func TestTune_OfAReplay(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	rec, config, written := filepath.Join(dir, "rec"), filepath.Join(dir, "queues.yaml"), filepath.Join(dir, "new.yaml")
	assert.NilError(t, os.WriteFile(config, []byte(crowdedYAML), 0o600))
	code, _, errs := replaySample("--mode", "durations", "--load", "100", "--nodes-percent", "25", "--config", config,
		"--record", rec)
	assert.Equal(t, code, 0, errs)
	tune := func(want int, args ...string) (r tuneResult, text, errs string) {
		t.Helper()
		code, out, errs := runLab(append([]string{"tune", rec, "--config", config, "-o", "json"}, args...)...)
		assert.Equal(t, code, want, "%s\n%s", out, errs)
		assert.NilError(t, json.Unmarshal([]byte(out), &r))
		code, text, _ = runLab(append([]string{"tune", rec, "--config", config}, args...)...)
		assert.Equal(t, code, want)
		return r, text, errs
	}
	given, text, errs := tune(0, "--objective", "root.ls max < 10000h", "--write", written)
	assert.Equal(t, given.Status, "not needed")
	assert.Assert(t, strings.Contains(text, "no change is needed") && strings.Contains(errs, "is not written"), "%s%s",
		text, errs)
	_, err := os.Stat(written)
	assert.Assert(t, os.IsNotExist(err))

	// All asks of the queue start, so that its quantiles are those of what-if.
	found, text, errs := tune(0, "--objective", "root.guaranteed p95 < 10m", "--write", written)
	assert.Equal(t, found.Status, "found")
	assert.DeepEqual(t, found.Proposal.Change,
		[]map[string]string{{"queue": "root.guaranteed", "name": "priority.offset", "after": "1"}})
	assert.Assert(t, found.Base.Figures[0] > 600 && found.Proposal.Figures[0] < 600, "%v > %v", found.Base.Figures,
		found.Proposal.Figures)
	assert.Assert(t, strings.Contains(text, "proposal: root.guaranteed priority.offset none > 1\n") &&
		strings.Contains(errs, "trial 1: root.guaranteed"), "%s%s", text, errs)
	edited, err := os.ReadFile(written)
	assert.NilError(t, err)
	assert.Equal(t, string(edited),
		strings.Replace(crowdedYAML, "{name: guaranteed}", "{name: guaranteed, properties: {priority.offset: 1}}", 1))
	code, out, errs := runLab("what-if", rec, "--config", written, "-o", "json")
	assert.Equal(t, code, 0, errs)
	var all []whatif.Comparison
	assert.NilError(t, json.Unmarshal([]byte(out), &all))
	for _, q := range all[0].Changed.Queues {
		if q.Name == "root.guaranteed" {
			assert.Equal(t, q.Started, q.Asks)
			assert.Equal(t, q.Wait.P95, found.Proposal.Figures[0])
			written = ""
		}
	}
	assert.Equal(t, written, "", "root.guaranteed is in what-if")

	none, text, _ := tune(1, "--objective", "root.guaranteed p95 < 1s", "--max-trials", "2", "--partition", "default",
		"--write", filepath.Join(dir, "none.yaml"))
	assert.Equal(t, none.Status, "not found")
	assert.Equal(t, len(none.Trials), 2)
	assert.Assert(t, strings.Contains(strings.Join(none.Reasons, "\n"), "the search has ended after 2 trials"), "%v",
		none.Reasons)
	assert.Assert(t, strings.Contains(text, "no change was found that meets all"), text)
	_, err = os.Stat(filepath.Join(dir, "none.yaml"))
	assert.Assert(t, os.IsNotExist(err))

	for want, args := range map[string][]string{
		`unknown queue "root.guarantee" in the configuration; did you mean "root.guaranteed"?`: {"--objective",
			"root.guarantee p95 < 1s"},
		`--partition: ` + rec + ` has no recording of partition "gpu"`: {"--objective",
			"root.ls p95 < 1s", "--partition", "gpu"},
		`--at: nothing was recorded before`: {"--objective",
			"root.ls p95 < 1s", "--at", "1999-01-01T00:00:00Z"},
	} {
		code, out, errs := runLab(append([]string{"tune", rec, "--config", config}, args...)...)
		assert.Equal(t, code, cmdline.Usage, errs)
		assert.Assert(t, out == "" && strings.Contains(errs, want), errs)
	}
	other := filepath.Join(dir, "other.yaml")
	assert.NilError(t, os.WriteFile(other, []byte("partitions: [{name: gpu, queues: [{name: a}]}]"), 0o600))
	code, _, errs = runLab("tune", rec, "--config", other, "--objective", "root.a p95 < 1s")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, `the configuration has no partition "default", which was recorded`), errs)
}

func TestTune_WrongInput(t *testing.T) {
	dir := t.TempDir()
	config, wrong := filepath.Join(dir, "queues.yaml"), filepath.Join(dir, "wrong.yaml")
	assert.NilError(t, os.WriteFile(config, []byte(crowdedYAML), 0o600))
	assert.NilError(t, os.WriteFile(wrong, []byte("partitions: ["), 0o600))
	rec := filepath.Join(dir, "rec")
	assert.NilError(t, os.Mkdir(rec, 0o700))
	const objective = "--objective=root.ls p95 < 60s"
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"tune takes one argument, the DIRECTORY of --record", cmdline.Usage, nil},
		{"--config is missing", cmdline.Usage, []string{rec, objective}},
		{"--objective is missing", cmdline.Usage, []string{rec, "--config", config}},
		{`--objective: "root.ls p99 < 60s": unknown quantile "p99"`, cmdline.Usage,
			[]string{rec, "--config", config, "--objective", "root.ls p99 < 60s"}},
		{"--others is 0.5, and must be 1 or more", cmdline.Usage,
			[]string{rec, "--config", config, objective, "--others", "0.5"}},
		{"--others is NaN", cmdline.Usage, []string{rec, "--config", config, objective, "--others", "NaN"}},
		{"--max-trials is 0, and must be above 0", cmdline.Usage,
			[]string{rec, "--config", config, objective, "--max-trials", "0"}},
		{"flag: it must be text or json", cmdline.Usage, []string{rec, "--config", config, objective, "-o", "yaml"}},
		{"--at", cmdline.Usage, []string{rec, "--config", config, objective, "--at", "yesterday"}},
		{"--write and --config name the same file", cmdline.Usage,
			[]string{rec, "--config", config, objective, "--write", config}},
		{"--write: " + filepath.Join(rec, "new.yaml") + " is in the recording", cmdline.Usage,
			[]string{rec, "--config", config, objective, "--write", filepath.Join(rec, "new.yaml")}},
		{"--write: there is no directory", cmdline.Usage,
			[]string{rec, "--config", config, objective, "--write", filepath.Join(dir, "absent", "new.yaml")}},
		{"no such file or directory", cmdline.Usage, []string{rec, "--config", filepath.Join(dir, "absent.yaml"), objective}},
		{"has 1 error", cmdline.Refused, []string{rec, "--config", wrong, objective}},
		{"no such file or directory", cmdline.Usage, []string{filepath.Join(dir, "absent"), "--config", config, objective}},
	} {
		code, out, errs := runLab(append([]string{"tune"}, c.args...)...)
		assert.Equal(t, code, c.code, "%v: %s", c.args, errs)
		assert.Assert(t, strings.Contains(errs, c.want), "%v: %s", c.args, errs)
		assert.Equal(t, out, "")
	}
}

// With several partitions the one to tune must be said.
func TestTune_OfSeveralPartitions(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	rec, config := filepath.Join(dir, "rec"), filepath.Join(dir, "queues.yaml")
	assert.NilError(t, os.WriteFile(config, []byte(crowdedYAML), 0o600))
	conf, problems := queuesyaml.Load([]byte(crowdedYAML))
	assert.Assert(t, conf != nil, "%v", problems)
	store, err := recording.Open(recording.Options{Dir: rec})
	assert.NilError(t, err)
	for _, name := range []string{"default", "gpu"} {
		p := conf.Partitions[0]
		p.Name = name
		core := scheduler.NewWith(p, nil, objects.DefaultOptions())
		r := store.Recorder(name, core, objects.DefaultOptions())
		r.Begin()
		r.Command(time.Unix(1, 0), scheduler.Wake{})
		r.Effects(core.Step(time.Unix(1, 0), scheduler.Wake{}), false)
		r.Close()
	}
	code, _, errs := runLab("tune", rec, "--config", config, "--objective", "root.ls p95 < 1s")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "the recording has partitions default, gpu: select one with --partition"),
		errs)
	code, _, errs = runLab("tune", rec, "--config", config, "--objective", "root.ls p95 < 1s", "--partition", "default")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "no ask was recorded"), errs)
}
