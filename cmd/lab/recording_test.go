package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/excerpt"
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var recordedFrom = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// recordedSession records a placement in a directory: a step each second. wrongStep is a step whose recorded effects
// are others; below 0: none.
func recordedSession(t *testing.T, wrongStep int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	store, err := recording.Open(recording.Options{Dir: dir, Canopy: "v7", Now: func() time.Time { return recordedFrom }})
	assert.NilError(t, err)
	conf, problems := queuesyaml.Load([]byte("partitions: [{name: default, queues: [{name: root, submitacl: '*', " +
		"queues: [{name: a}]}]}]"))
	assert.Assert(t, conf != nil, "%v", problems)
	core := scheduler.New(conf.Partitions[0], nil)
	r := store.Recorder("default", core, objects.DefaultOptions())
	core.SetOracle(r.Oracle(nil))
	r.Begin()
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1000})
	for i, cmd := range []scheduler.Command{
		scheduler.AddNode{Node: "n1", Total: one.Times(4), Schedulable: true},
		scheduler.AddApplication{App: "x", User: security.User{Name: "ann"}, Queue: "root.a"},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: "x", Amounts: one}},
		nil,
	} {
		now := recordedFrom.Add(time.Duration(i) * time.Second)
		var effects []scheduler.Effect
		more := false
		if cmd == nil {
			r.Schedule(now, 256)
			effects, more = core.Schedule(now, 256)
		} else {
			r.Command(now, cmd)
			effects = core.Step(now, cmd)
		}
		if i == wrongStep {
			effects = append([]scheduler.Effect{scheduler.NodeAccepted{Node: "n2"}}, effects[1:]...)
		}
		r.Effects(effects, more)
	}
	r.Close()
	return dir
}

func TestRecordingPlay_Equal(t *testing.T) {
	dir := recordedSession(t, -1)
	code, out, errs := runLab("recording", "play", dir)
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, out,
		`partition default, recorded since 2026-01-02T15:04:05Z by canopy v7: `+
			`4 steps from 2026-01-02T15:04:05Z to 2026-01-02T15:04:08Z
  equal: 4 steps with 5 effects
`)
	code, out, _ = runLab("recording", "play", dir, "--from", "2026-01-02T15:04:06Z", "--to", "2026-01-02T15:04:07Z",
		"--output", "json")
	assert.Equal(t, code, 0)
	var results []playback.Result
	assert.NilError(t, json.Unmarshal([]byte(out), &results))
	assert.Equal(t, len(results), 1)
	assert.Equal(t, results[0].Steps, uint64(2))
	assert.Equal(t, results[0].Compared, uint64(2))
	assert.Assert(t, results[0].Difference == nil)
}

func TestRecordingPlay_FirstDifference(t *testing.T) {
	code, out, _ := runLab("recording", "play", recordedSession(t, 3))
	assert.Equal(t, code, 1)
	_, difference, _ := strings.Cut(out, "\n")
	assert.Equal(t, difference,
		`step 3 at 2026-01-02T15:04:08Z in 1767366245000000000-000000.rec differs: `+
			`the number of effects is the same, 2, but not what they say
  schedule 256
  this version of Canopy makes these effects:
    application x is Running
    allocated k (x) on n1
`)
}

func TestRecordingPlay_DamageIsSaid(t *testing.T) {
	dir := recordedSession(t, -1)
	files, err := filepath.Glob(filepath.Join(dir, "default", "*"))
	assert.NilError(t, err)
	data, err := os.ReadFile(files[0])
	assert.NilError(t, err)
	data[len(data)/2]++
	assert.NilError(t, os.WriteFile(files[0], data, 0o600))
	code, out, errs := runLab("recording", "play", dir)
	assert.Equal(t, code, 1)
	assert.Assert(t,
		strings.Contains(out, "  steps are missing at the end: "+files[0]+": the begin of the session cannot be read: "), out)
	assert.Assert(t, strings.Contains(errs, dir+": no step could be compared"), errs)
	code, _, errs = runLab("recording", "excerpt", dir, "--until-effect", "k")
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.Contains(errs, "the begin of the session cannot be read") &&
		strings.Contains(errs, "none of the 0 steps"), errs)
}

func TestRecordingShow_StepsAndEffects(t *testing.T) {
	dir := recordedSession(t, -1)
	code, out, errs := runLab("recording", "show", dir, "--from", "2026-01-02T15:04:06Z")
	assert.Equal(t, code, 0, errs)
	assert.Equal(t, out, `2026-01-02T15:04:06Z default 1 add-application {"app":"x","queue":"root.a","user":{"name":"ann"}}
    accepted application x
2026-01-02T15:04:07Z default 2 submit-ask {"ask":{"amounts":{"vcore":1000},"app":"x","key":"k"}}
    application x is Accepted
2026-01-02T15:04:08Z default 3 schedule 256
    application x is Running
    allocated k (x) on n1
`)
	code, out, _ = runLab("recording", "show", dir, "--output", "json", "--to", "2026-01-02T15:04:05Z")
	assert.Equal(t, code, 0)
	assert.Equal(t, out,
		`{"partition":"default","step":0,"at":"2026-01-02T15:04:05Z","command":"add-node","fields":{"node":"n1",`+
			`"schedulable":true,"total":{"vcore":4000}},"effects":["accepted node n1"]}
`)
}

// The excerpt is a text that internal/lab/excerpt replays, and has no step too many.
func TestRecordingExcerpt_IsShort(t *testing.T) {
	dir := recordedSession(t, -1)
	code, out, errs := runLab("recording", "excerpt", dir, "--until-effect", "x", "--matching", "Accepted")
	assert.Equal(t, code, 0, errs)
	assert.Assert(t,
		strings.HasPrefix(out,
			"# Excerpt of a recording of partition default, begun at 2026-01-02T15:04:05Z: 2 of 3 steps; none can be left "+
				"out.\n\nbegin {"), out)
	_, steps, _ := strings.Cut(out, "}\n\n")
	assert.Equal(t, steps, `2026-01-02T15:04:06Z add-application {"app":"x","queue":"root.a","user":{"name":"ann"}}
    accepted application x

2026-01-02T15:04:07Z submit-ask {"ask":{"amounts":{"vcore":1000},"app":"x","key":"k"}}
    application x is Accepted
`)
	_, err := excerpt.Parse([]byte(out))
	assert.NilError(t, err)
	code, out, _ = runLab("recording", "excerpt", dir, "--until-effect", "k", "--whole")
	assert.Equal(t, code, 0)
	assert.Equal(t, strings.Count(out, "\n2026-01-02"), 4, out)
	code, out, _ = runLab("recording", "excerpt", dir, "--until-effect", "k", "--max-replays", "2")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, "more could be left out with more than 2 replays"), out)
}

func TestRecordingConvert(t *testing.T) {
	const former = "../../internal/lab/formerformat/testdata/old"
	to := t.TempDir()
	code, _, errs := runLab("recording", "play", former)
	assert.Equal(t, code, 2)
	assert.Assert(t, strings.Contains(errs, "'canopy-lab recording convert' converts it"), errs)
	code, _, errs = runLab("recording", "convert", former, to)
	assert.Equal(t, code, 0, errs)
	code, out, errs := runLab("recording", "play", to)
	assert.Equal(t, code, 0, errs)
	assert.Assert(t, strings.Contains(out, "equal: 45 steps with 36 effects") &&
		strings.Contains(out, "equal: 130 steps with 92 effects"), out)
	code, _, errs = runLab("recording", "convert", to, t.TempDir())
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.Contains(errs, "only versions 1 to 2 are converted"), errs)
	for _, args := range [][]string{{former}, {former, former}} {
		code, _, errs = runLab(append([]string{"recording", "convert"}, args...)...)
		assert.Equal(t, code, 2)
		assert.Assert(t, strings.Contains(errs, "takes two directories"), errs)
	}
}

func TestRecordingExcerpt_Refuses(t *testing.T) {
	dir := recordedSession(t, -1)
	code, _, errs := runLab("recording", "excerpt", dir, "--until-effect", "nothing")
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.Contains(errs, dir+": none of the 4 steps in the window has such an effect"), errs)
	code, _, errs = runLab("recording", "excerpt", dir, "--until-panic")
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.Contains(errs, "none of the 4 steps"), errs)
	code, _, errs = runLab("recording", "excerpt", recordedSession(t, 2), "--until-effect", "k")
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.Contains(errs, "partition default: step 2 at") &&
		strings.Contains(errs, "An excerpt would be of other decisions"), errs)
	for want, args := range map[string][]string{
		"one of --until-effect and --until-panic is needed": {dir},
		"--matching is about --until-effect":                {dir, "--until-panic", "--matching", "a"},
		"--max-replays is 0, and must be above 0":           {dir, "--until-panic", "--max-replays", "0"},
		"there is no recording":                             {t.TempDir(), "--until-panic"},
	} {
		code, _, errs := runLab(append([]string{"recording", "excerpt"}, args...)...)
		assert.Equal(t, code, 2, "%v", args)
		assert.Assert(t, strings.Contains(errs, want), errs)
	}
}

func TestRecording_InvalidArguments(t *testing.T) {
	dir := recordedSession(t, -1)
	for want, args := range map[string][]string{
		"takes one argument, the DIRECTORY of --record":                           {"play"},
		"there is no recording":                                                   {"show", t.TempDir()},
		"has no recording of partition \"gpu\"":                                   {"play", dir, "--partition", "gpu"},
		"--from is \"yesterday\": it must be a time":                              {"play", dir, "--from", "yesterday"},
		"invalid argument \"xml\" for \"--output\" flag: it must be text or json": {"show", dir, "--output", "xml"},
	} {
		code, _, errs := runLab(append([]string{"recording"}, args...)...)
		assert.Equal(t, code, 2, "%v", args)
		assert.Assert(t, strings.Contains(errs, want), errs)
	}
}
