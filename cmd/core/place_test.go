package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/offline"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

const placedQueues = `partitions:
- placementrules:
  - {name: provided, filter: {users: [ann]}}
  - {name: user, create: true, parent: {name: fixed, value: root.teams}}
  queues:
  - name: root
    queues:
    - name: teams
      submitacl: ' dev'
      parent: true
      childtemplate:
        maxapplications: 5
        properties: {priority.offset: 10}
        resources: {max: {vcore: 10500m, memory: 16Gi}, guaranteed: {vcore: 2}}
    - {name: open, submitacl: '*'}
- name: gpu
  queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`

func TestPlace_Text(t *testing.T) {
	inDirectory(t)
	writeFile(t, "queues.yaml", placedQueues)
	for _, c := range []struct {
		name, args string
		want       string
	}{
		{"an existing queue", "--user ann --queue root.open", "root.open: placed by rule provided\n" +
			"  provided: named: root.open\naccess: submitacl of root.open has *\n"},
		{"a queue that is created", "--user bob.b --groups ops,dev", "root.teams.bob_dot_b: placed by rule user\n" +
			"  provided: passed over: the application names no queue\n" +
			"  user: named: root.teams.bob_dot_b\n    parent fixed root.teams: named: root.teams\n" +
			"access: submitacl of root.teams has group dev\n" +
			"creates root.teams.bob_dot_b, a leaf with the childtemplate of root.teams\n" +
			"  max: memory 16Gi, vcore 10500m\n  guaranteed: vcore 2\n  maxapplications: 5\n  priority.offset: 10\n"},
		{"quota tags, one of which makes no sense", "--user bob --groups dev " +
			`--tag namespace.resourcequota={"resources":{"vcore":{"value":3000}}} --tag namespace.resourcemaxapps=x`,
			"root.teams.bob: placed by rule user\n" +
				"  provided: passed over: the application names no queue\n" +
				"  user: named: root.teams.bob\n    parent fixed root.teams: named: root.teams\n" +
				"access: submitacl of root.teams has group dev\n" +
				"creates root.teams.bob, a leaf with the childtemplate of root.teams\n" +
				"  max: vcore 3\n  guaranteed: vcore 2\n  maxapplications: 5\n  priority.offset: 10\n" +
				"warning: tag namespace.resourcemaxapps: \"x\" is not a number of applications\n"},
		{"a rejection", "--user ann --queue root.open.x",
			"rejected: no placement rule matched: rule provided: queue root.open.x does not exist," +
				" and the rule does not create it; rule user: user ann has no submit access to root.teams, below which " +
				"root.teams.ann would be created" +
				" (submitacl of root.teams, root)\n" +
				"  provided: passed over: queue root.open.x does not exist, and the rule does not create it\n" +
				"  user: passed over: user ann has no submit access to root.teams, below which root.teams.ann would be created" +
				" (submitacl of root.teams, root)\n    parent fixed root.teams: named: root.teams\n"},
		{"a forced one", "--user eve --create-forced",
			"root.@recovery@: placed by the recovery rule, because no other rule placed it and it is forced\n" +
				"  provided: passed over: the application names no queue\n" +
				"  user: passed over: user eve has no submit access to root.teams, below which root.teams.eve would be created" +
				" (submitacl of root.teams, root)\n    parent fixed root.teams: named: root.teams\n" +
				"  recovery: named: root.@recovery@\ncreates root.@recovery@, a leaf without limits\n"},
		{"a forced one by its tag, in another partition",
			"--partition gpu --user eve --queue root.a --tag application.create.force=true --tag x=",
			"root.a: placed by rule provided\n  provided: named: root.a\naccess: submitacl of root has *\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := runCanopy(append([]string{"place", "--config", "queues.yaml"}, strings.Fields(c.args)...)...)
			assert.Equal(t, out, c.want)
			assert.Equal(t, errs, "")
			assert.Equal(t, code == cmdline.Refused, strings.HasPrefix(c.want, "rejected: "))
		})
	}
}

func TestPlace_NestedParentRules(t *testing.T) {
	code, out, errs := runCanopy("place", "--config", filepath.Join(moduleRoot, "examples", "tenants.yaml"),
		"--user", "ann", "--groups", "research", "--tag", "tenant=research")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Equal(t, out, `root.tenants.research.ann: placed by rule user
  provided: passed over: the application names no queue
  user: named: root.tenants.research.ann
    parent tag tenant: named: root.tenants.research
      parent fixed root.tenants: named: root.tenants
access: submitacl of root.tenants.research has group research
creates root.tenants.research.ann, a leaf with the childtemplate of root.tenants.research
  max: memory 64Gi, vcore 10
  maxapplications: 10
`)
}

func TestPlace_JSON(t *testing.T) {
	inDirectory(t)
	writeFile(t, "queues.yaml", placedQueues)
	code, out, _ := runCanopy("place", "--config", "queues.yaml", "--user", "bob", "--groups", "dev", "-o", "json")
	assert.Equal(t, code, 0)
	var got offline.Placement
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, got.Queue, "root.teams.bob")
	assert.DeepEqual(t, got.Created[0].Max, map[string]resources.Quantity{"vcore": 10500, "memory": 16 << 30})

	code, out, _ = runCanopy("place", "--config", "queues.yaml", "--user", "eve", "-o", "json")
	assert.Equal(t, code, cmdline.Refused)
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.Assert(t, !got.Placed && len(got.Steps) == 2)
}

func TestPlace_InvalidFlagsAreRejected(t *testing.T) {
	inDirectory(t)
	for args, want := range map[string]string{
		"":                                 "--user is empty",
		"--user ann":                       "--config names no file",
		"--user ann --config missing.yaml": "no such file",
		"--user ann --config broken.yaml":  "--config: broken.yaml has 2 errors",
		"--user ann --config valid.yaml --partition gpu":     `there is no partition "gpu": the configuration has default`,
		"--user ann --config valid.yaml --tag x":             `--tag is NAME=VALUE, not "x"`,
		"--user ann --config valid.yaml --tag =x":            `--tag is NAME=VALUE, not "=x"`,
		"--user ann --config valid.yaml --tag x=1 --tag x=2": `--tag gives "x" twice`,
		"--user a|b --groups dev --config valid.yaml":        `a user with groups cannot be called "a|b"`,
		"--user ann --groups a,,b --config valid.yaml":       "--groups has an empty name",
		"--user root\x00 --config valid.yaml":                `--user: "root\x00" has a control character`,
		"--user ann --groups a,b\x7f --config valid.yaml":    `--groups: "b\x7f" has a control character`,
		"--user ann --config valid.yaml -o xml":              `for "--output" flag: it must be text or json`,
		"--user ann --config valid.yaml --max-depth 0":       "--max-depth is 0",
		"--user ann --config valid.yaml extra":               "extra",
	} {
		code, out, errs := runCanopy(append([]string{"place"}, strings.Fields(args)...)...)
		assert.Equal(t, code, cmdline.Usage, args)
		assert.Equal(t, out, "", args)
		assert.Assert(t, strings.Contains(errs, want), "%s: %s", args, errs)
	}
}

func TestOfflineCommands_ExitCodesOfProcess(t *testing.T) {
	file := buildProgram(t)
	for _, c := range []struct {
		args string
		want int
	}{
		{"place --config examples/demo.yaml --user ann --queue root.nowhere", cmdline.Refused},
		{"place --config examples/demo.yaml --user ann", cmdline.Refused},
		{"place --config examples/demo.yaml", cmdline.Usage},
		{"schema", 0},
	} {
		cmd := exec.Command(file, strings.Fields(c.args)...)
		cmd.Dir = moduleRoot
		out, _ := cmd.CombinedOutput()
		assert.Equal(t, cmd.ProcessState.ExitCode(), c.want, "%s: %s", c.args, out)
	}
}

func TestPlace_QuantitiesKeepTheirUnits(t *testing.T) {
	inDirectory(t)
	writeFile(t, "queues.yaml",
		"partitions:\n- placementrules: [{name: user, create: true, parent: {name: fixed, value: root.a}}]\n  queues:\n  - "+
			"name: root\n    submitacl: '*'\n"+
			"    queues: [{name: a, parent: true, childtemplate: {resources: {max: {memory: 488281250Ki, pods: 1}, guaranteed: "+
			"{memory: 1024Mi}}}}]\n")
	code, out, errs := runCanopy("place", "--config", "queues.yaml", "--user", "ann")
	assert.Equal(t, code, 0, errs)
	assert.Assert(t, strings.Contains(out, "\n  max: memory 488281250Ki, 1 pod\n  guaranteed: memory 1024Mi\n"), out)
}
