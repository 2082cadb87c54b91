package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

const (
	oldPlan = `partitions:
- queues:
  - name: root
    submitacl: '*'
    limits: [{users: [ann], maxapplications: 5}]
    queues:
    - {name: a, resources: {max: {vcore: 10}}, queues: [{name: x}]}
    - {name: b}
- {name: gpu, queues: [{name: root, submitacl: '*'}]}
`
	newPlan = `partitions:
- placementrules: [{name: user, create: true}]
  queues:
  - name: root
    submitacl: '*'
    limits: [{groups: [dev], maxapplications: 5}]
    queues:
    - {name: a, resources: {max: {vcore: 500m}}, properties: {priority.offset: 7}, queues: [{name: x}, {name: y}]}
- {name: cpu, queues: [{name: root, submitacl: '*'}]}
`
)

func TestPlan_Text(t *testing.T) {
	inDirectory(t)
	writeFile(t, "old.yaml", oldPlan)
	writeFile(t, "new.yaml", newPlan)
	code, out, errs := runCanopy("plan", "--config", "new.yaml", "--against", "old.yaml")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, exitImpact)
	want := `+ partition cpu
    churnbreaker: true
    churncooldown: 5m0s
    churncycles: 10
    churnwindow: 30m0s
    nodepressure: false
    nodepressuregrace: 1m0s
    noderefusal asks: 3
    noderefusal backoff: 10s
    noderefusal maxbackoff: 5m0s
    nodesortpolicy: fair
    nominationtimeout: 5m0s
    preemption: true
    priority: enabled
    quotapreemption: false
    reservation: true
    reservation backfill: off
    reservation backfillasks: 64
    reservation backfillnodes: 64
    reservation delay: 2s
    reservation nodepercent: 5
    reservation timeout: 1h0m0s
    resourceweights memory: 1
    resourceweights vcore: 1
  + root
      submitacl: *
      type: parent
partition default
    placementrules[0]: not set -> user, may create
  ~ root.a
      max vcore: 10 -> 500m
      priority.offset: not set -> 7
  ~ root.a.x
      max vcore: 10 -> 500m (inherited)
  + root.a.y
      type: leaf
  - root.b (drains, and is removed when it is empty)
  - limit of user ann in root
      maxapplications: 5 -> not set
  + limit of group dev in root
      maxapplications: 5
- partition gpu (drains, and is removed when it is empty)
  - root (drains, and is removed when it is empty)
without --address the impact on applications is not known
1 partition created, 1 partition removed, 1 partition changed, ` +
		`2 queues created, 2 queues removed, 2 queues changed, 1 limit created, 1 limit removed
`
	assert.Equal(t, out, want)

	code, out, _ = runCanopy("plan", "--config", "new.yaml", "--against", "old.yaml", "--partition", "gpu", "--color",
		"always")
	assert.Equal(t, code, exitImpact)
	assert.Assert(t, strings.HasPrefix(out, "\x1b[31m- partition gpu (drains, and is removed when it is empty)\x1b[0m\n"),
		"%q", out)
	_, out, _ = runCanopy("plan", "--config", "new.yaml", "--against", "old.yaml", "--color", "never")
	assert.Assert(t, !strings.Contains(out, "\x1b"))

	writeFile(t, "classes.yaml", oldPlan+"priorityclasses: [{name: high, value: 5, submitacl: ann}]\n")
	code, out, _ = runCanopy("plan", "--config", "classes.yaml", "--against", "old.yaml")
	assert.Equal(t, code, exitImpact)
	assert.Equal(t, out,
		"+ priority class high\n    globalDefault: false\n    preemptionPolicy: PreemptLowerPriority\n    submitacl: "+
			"\"ann\"\n"+
			"    value: 5\nwithout --address the impact on applications is not known\n1 priority class created\n")

	writeFile(t, "budgets.yaml",
		oldPlan+"disruptionbudgets: [{name: db, selector: {matchLabels: {app: db}}, maxUnavailable: 25%}]\n")
	code, out, _ = runCanopy("plan", "--config", "budgets.yaml", "--against", "old.yaml")
	assert.Equal(t, code, exitImpact)
	assert.Equal(t, out, "+ disruption budget default/db\n    maxUnavailable: 25%\n    selector: app=db\n"+
		"without --address the impact on applications is not known\n1 disruption budget created\n")

	writeFile(t, "same.yaml", "# nothing but a comment\n"+oldPlan)
	code, out, _ = runCanopy("plan", "--config", "same.yaml", "--against", "old.yaml")
	assert.Equal(t, code, 0)
	assert.Equal(t, out, "nothing changes\n")
}

func TestPlan_JSON(t *testing.T) {
	inDirectory(t)
	writeFile(t, "old.yaml", oldPlan)
	writeFile(t, "new.yaml", newPlan)
	code, out, _ := runCanopy("plan", "--config", "new.yaml", "--against", "old.yaml", "-o", "json")
	assert.Equal(t, code, exitImpact)
	var got plan.Plan
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	old, _ := queuesyaml.Load([]byte(oldPlan))
	new, _ := queuesyaml.Load([]byte(newPlan))
	assert.DeepEqual(t, got, plan.Compute(old, new, nil))
}

func TestPlan_InvalidFlagsAreRejected(t *testing.T) {
	inDirectory(t)
	for args, want := range map[string]string{
		"--config valid.yaml": "nothing to compare with: give --address or " +
			"--against",
		"--against valid.yaml":   "--config names no file",
		"--config - --against -": "cannot both be standard input",
		"--config valid.yaml --against valid.yaml --color red": `for "--color" flag: it must be auto, always or ` +
			`never`,
		"--config valid.yaml --against valid.yaml --partition gpu": `neither configuration has partition "gpu"`,
		"--config broken.yaml --against valid.yaml":                "--config: broken.yaml has 2 errors",
		"--config valid.yaml --against broken.yaml":                "--against: broken.yaml has 2 errors",
		"--config valid.yaml --against missing.yaml":               "--against: open missing.yaml",
		"--config valid.yaml --address nowhere": `for "--address" flag: address nowhere: missing ` +
			`port`,
		"--config valid.yaml --address 127.0.0.1:1":                      "127.0.0.1:1",
		"--config missing.yaml --address 127.0.0.1:1":                    "--config: open missing.yaml",
		"--config valid.yaml --address 127.0.0.1:1 --against valid.yaml": "give --address or --against: a server compares",
		"--config valid.yaml --against valid.yaml --timeout 0s":          `for "--timeout" flag: it must be above 0`,
		"--config valid.yaml --against valid.yaml --max-queues 0":        "--max-queues is 0",
		"--config valid.yaml --against valid.yaml --nonsense":            "unknown flag: --nonsense",
		"--config valid.yaml --against valid.yaml extra":                 "extra",
		"--config valid.yaml --against valid.yaml -o xml":                `for "--output" flag: it must be text or json`,
	} {
		code, out, errs := runCanopy(append([]string{"plan"}, strings.Fields(args)...)...)
		assert.Equal(t, code, cmdline.Refused, args) // exit code 2 means that something would change
		assert.Equal(t, out, "", args)
		assert.Assert(t, strings.Contains(errs, want), "%s: %s", args, errs)
	}
}

func TestPlan_AgainstServer(t *testing.T) {
	file, dir := buildProgram(t), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	old := write("old.yaml", oldPlan)
	p := startProgram(t, file, "serve", "--config", old, "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0")
	s := connect(t, p.ready)
	client, err := sim.Dial(s.ctx, s.conn.Target(), "rm")
	assert.NilError(t, err)
	defer func() { assert.NilError(t, client.Close()) }()
	has := resources.FromMap(map[string]resources.Quantity{"vcore": 8000, "memory": 1 << 30})
	assert.NilError(t, client.Register(s.ctx, ""))
	assert.NilError(t, client.AddNodes(s.ctx, sim.Node{ID: "n1", Capacity: has}))
	assert.NilError(t, client.AddApplications(s.ctx, sim.Application{ID: "app-1", Queue: "root.a.x", User: "ann"}))
	assert.NilError(t, client.Submit(s.ctx, sim.Ask{Key: "k", App: objects.AppID("app-1"),
		Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 2000})}))
	assert.NilError(t, client.WaitIdle(s.ctx))

	address := strings.TrimPrefix(s.http, "http://")
	ask := func(want int, args ...string) string {
		cmd := exec.Command(file, append([]string{"plan", "--address", address}, args...)...)
		out, _ := cmd.CombinedOutput()
		assert.Equal(t, cmd.ProcessState.ExitCode(), want, "%s", out)
		return string(out)
	}
	assert.Equal(t, ask(0, "--config", old), "nothing changes\n")

	// There is a warning for a resource that no node has; the JSON form has the warnings, too.
	absent := write("absent.yaml",
		strings.Replace(oldPlan, "name: x", "name: x, resources: {max: {nvidia.com/gpu: 1}}", 1))
	out := ask(exitImpact, "--config", absent)
	assert.Assert(t,
		strings.Contains(out,
			`warning [resource-absent] root.a.x: max is for a resource "nvidia.com/gpu", which no node has (hint: the nodes `+
				`have "memory", "vcore")`), out)
	out = ask(exitImpact, "--config", absent, "-o", "json")
	assert.Assert(t, strings.Contains(out, `"rule": "resource-absent",`), out)

	out = ask(exitImpact, "--config", write("new.yaml", newPlan))
	assert.Assert(t,
		strings.Contains(out, "\n! root.a is over its new max by vcore 1500m: it holds 2, and may hold 500m\n"), out)
	assert.Assert(t, !strings.Contains(out, "without --address"), out)
	assert.Assert(t, !strings.Contains(out, "\x1b"), "a pipe has no colours")

	changed := strings.Replace(strings.Replace(oldPlan, "{name: x}", "{name: x, parent: true}", 1), "submitacl: '*'",
		"submitacl: bob", 1)
	limited := strings.Replace(oldPlan, "maxapplications: 5", "maxapplications: 5, maxresources: {vcore: 1500m}", 1)
	out = ask(exitImpact, "--config", write("limited.yaml", limited))
	assert.Assert(t,
		strings.Contains(out, "\n! user ann is over the new limit in root by vcore 500m: 2 used, and 1500m allowed\n"), out)

	out = ask(exitImpact, "--config", write("changed.yaml", changed))
	assert.Assert(t, strings.Contains(out, "! refused: leaf root.a.x cannot become a parent: it holds app-1\n"), out)
	assert.Assert(t, strings.Contains(out, "! user ann loses submit access to root.a.x, where application app-1 is\n"),
		out)

	removed := write("removed.yaml", strings.Replace(oldPlan, "name: gpu", "name: cpu", 1))
	assert.Equal(t, ask(0, "--config", removed, "--partition", "default"), "nothing changes\n")
	assert.Equal(t, ask(cmdline.Refused, "--config", old, "--partition", "a/b"),
		"canopy: neither configuration has partition \"a/b\"\n")
	broken := ask(cmdline.Refused, "--config", write("broken.yaml", brokenQueues))
	assert.Assert(t, strings.Contains(broken, "broken.yaml:") && strings.Contains(broken, "has 2 errors"), broken)
	p.stop()
}
