package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// replayContested replays the sample on half of its nodes, class by class, in one leaf with
// preemption.priority: leaf.
func replayContested(args ...string) (code int, out, errs string) {
	return replaySample(append([]string{
		"--nodes-percent", "50", "--order", "qos", "--priority-from", "qos", "--queue", "root.Shared",
		"--config", filepath.Join(moduleRoot, "examples", "openb-preemption.yaml"),
	}, args...)...)
}

func readReplay(t *testing.T, text string) (r replayReport) {
	t.Helper()
	assert.NilError(t, json.Unmarshal([]byte(text), &r))
	assert.Equal(t, len(r.Preemption.ByQoS), 4)
	return r
}

func TestReplay_ComparePreemption(t *testing.T) {
	defer goleak.VerifyNone(t)
	code, out, errs := replayContested("--preemption", "compare", "--output", "json")
	assert.Equal(t, code, 0, errs)
	r := readReplay(t, out)
	p := r.Preemption
	assert.Equal(t, r.Nodes, 6)
	assert.Assert(t, p.Mode == "compare" && p.Possible && p.WithoutPreemption != nil)
	ls, before := p.ByQoS[0], p.WithoutPreemption.ByQoS[0]
	assert.Assert(t, ls.QoS == "ls" && ls.Priority == 300 && before.QoS == "ls")
	assert.Assert(t, ls.Running > before.Running, "%d, without preemption %d", ls.Running, before.Running)
	assert.Assert(t, p.Victims > 0 && p.Victims == r.Preempted && p.WithoutPreemption.Victims == 0)
	assert.Equal(t, r.Balance.Placed.Allocations-p.Victims, r.Balance.Running.Allocations)
	assert.DeepEqual(t, r.Balance.Running.Resources, r.AllocatedResources)
	assert.DeepEqual(t, r.Balance.Preempted.Resources, p.Lost)

	for mode, victims := range map[string]bool{"on": true, "off": false} {
		code, out, errs = replayContested("--preemption", mode, "--output", "json")
		assert.Equal(t, code, 0, errs)
		alone := readReplay(t, out)
		assert.Equal(t, alone.Preemption.Mode, mode)
		assert.Equal(t, alone.Preempted > 0, victims)
		assert.Assert(t, alone.Preemption.WithoutPreemption == nil)
		want := before
		if victims {
			want = ls
		}
		assert.DeepEqual(t, alone.Preemption.ByQoS[0], want)
	}
}

func TestReplay_PreemptionText(t *testing.T) {
	decisions := filepath.Join(t.TempDir(), "decisions")
	code, out, errs := replayContested("--preemption", "compare", "--resubmit", "--decisions", decisions)
	assert.Equal(t, code, 0, errs)
	for _, want := range []string{
		`\nQOS +PRIORITY +TASKS +PLACED +PREEMPTED +RESUBMITTED +PLACED AGAIN +RUNNING +WAITING +NOT RESUBMITTED +RUNNING ` +
			`WITHOUT PREEMPTION\nls +300 +\d`,
		`\nbe +0 +\d+ `, `\n\d+ tasks preempted \d+ others\n\d+ were submitted again, and \d+ of them were placed again\n`,
		`\nwork lost +[\d.]+ vcore, `, `\n\d+ of 80 tasks were placed; \d+ run at the end, with [\d.]+ GPUs\n`,
		`\nthe accounting balances: \d+ placed - \d+ preempted - 0 released = \d+ running\n`,
		`\nasks +\d+: \d+ placed, \d+ preempted, `,
	} {
		assert.Assert(t, regexp.MustCompile(want).MatchString(out), "%s in\n%s", want, out)
	}
	assert.Assert(t, strings.Contains(errs, "first without preemption\n") && strings.Contains(errs, " tasks preempted\n"),
		errs)
	text, err := os.ReadFile(decisions)
	assert.NilError(t, err)
	assert.Assert(t, regexp.MustCompile(`(?m)^task-\d+ node-\d+ preempted$`).Match(text), "%s", text)
	assert.Assert(t, regexp.MustCompile(`(?m)^task-\d+#2 node-\d+$`).Match(text), "%s", text)
}

// With other priorities best effort is submitted last and is not preempted.
func TestReplay_QoSPriorities(t *testing.T) {
	code, out, errs := replayContested("--qos-priorities", "ls=-5,be=1000", "--output", "json")
	assert.Equal(t, code, 0, errs)
	classes := readReplay(t, out).Preemption.ByQoS
	assert.Assert(t, classes[0].QoS == "be" && classes[0].Priority == 1000 && classes[0].Preempted == 0)
	assert.Assert(t, classes[3].QoS == "ls" && classes[3].Priority == -5 && classes[3].Preempted > 0)
}

// Without --priority-from all tasks have priority 0: the classes are submitted one by one, and no task
// is preempted.
func TestReplay_OrderByQoSWithoutPriorities(t *testing.T) {
	code, out, errs := replaySample("--nodes-percent", "50", "--order", "qos", "--queue", "root.shared", "--output",
		"json",
		"--config", filepath.Join(moduleRoot, "examples", "openb-preemption.yaml"))
	assert.Equal(t, code, 0, errs)
	r := readReplay(t, out)
	assert.Assert(t, r.Preemption.Possible && r.Preempted == 0)
}

func TestReplay_LifetimesWithPreemption(t *testing.T) {
	code, out, errs := replaySample("--mode", "lifetimes", "--nodes-percent", "20", "--priority-from", "qos", "--queue",
		"root.shared", "--resubmit",
		"--config", filepath.Join(moduleRoot, "examples", "openb-preemption.yaml"), "--output", "json")
	assert.Equal(t, code, 0, errs)
	r := readReplay(t, out)
	assert.Assert(t, r.Preempted > 0 && r.Balance.Running.Allocations == 0)
}

// A scheduler that does not preempt although the client expects it violates an invariant.
func TestReplay_MissingPreemptionIsReported(t *testing.T) {
	f := replayFlags{
		nodes: sampleNodes, pods: samplePods, mode: "fill", nodesPercent: 50, order: "qos", priorities: "qos",
		queue: "root.shared", preemption: "on",
		config: filepath.Join(moduleRoot, "examples", "openb-preemption.yaml"), bounds: queuesyaml.DefaultOptions(),
	}
	tr, err := readTrace(&f)
	assert.NilError(t, err)
	tr.config = strings.Replace(demo.PreemptionConfig, "leaf", "disabled", 1)
	_, err = tr.replay(t.Context(), &f, io.Discard, cmdline.ProgressOn(io.Discard))
	assert.ErrorContains(t, err, "is pending, and could preempt allocations of lower priority on node ")
}
