package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/offline"
)

const wrongAssertions = `assertions:
- name: it is
  queue: root.teams
  expect: {max: {vcore: unlimited}}
- queue: root.teams
  expect: {maxapplications: 3}
`

func TestTestCommand_Text(t *testing.T) {
	inDirectory(t)
	writeFile(t, "queues.yaml", placedQueues)
	writeFile(t, "a.yaml", wrongAssertions)
	writeFile(t, "b.yaml", "assertions: [{queue: root.open, expect: {maxapplications: 0}}]")
	code, out, errs := runCanopy("test", "--config", "queues.yaml", "a.yaml", "b.yaml")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, out, "ok    a.yaml:2: it is\n"+
		"FAIL  a.yaml:5: queue root.teams: root.teams maxapplications: expected 3, actual 0\n"+
		"ok    b.yaml:1: queue root.open\n2 passed, 1 failed\n")
	code, _, _ = runCanopy("test", "--config", "queues.yaml", "b.yaml")
	assert.Equal(t, code, 0)
}

func TestTestCommand_JSON(t *testing.T) {
	inDirectory(t)
	writeFile(t, "queues.yaml", placedQueues)
	writeFile(t, "a.yaml", wrongAssertions)
	code, out, _ := runCanopy("test", "--config", "queues.yaml", "a.yaml", "-o", "json")
	assert.Equal(t, code, cmdline.Refused)
	var got assertionReport
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.DeepEqual(t, got, assertionReport{Passed: 1, Failed: 1, Files: []assertionFile{{"a.yaml", []offline.Result{
		{Line: 2, Name: "it is", OK: true, Differences: []offline.Difference{}},
		{Line: 5, Name: "queue root.teams",
			Differences: []offline.Difference{{What: "root.teams maxapplications", Expected: "3", Actual: "0"}}},
	}}}})
}

func TestTestCommand_InvalidInput(t *testing.T) {
	inDirectory(t)
	writeFile(t, "typo.yaml", "assertions: [{queue: root, expects: {max: {}}}]")
	writeFile(t, "gpu.yaml", "assertions: [{partition: gpu, queue: root, expect: {max: {vcore: 1}}}]")
	writeFile(t, "long.yaml", strings.Repeat("#", 100))
	for args, want := range map[string]string{
		"":                                       "name at least one file of assertions",
		"gpu.yaml":                               "--config names no file",
		"--config valid.yaml x.yaml":             "no such file",
		"--config broken.yaml gpu.yaml":          "--config: broken.yaml has 2 errors",
		"--config valid.yaml gpu.yaml typo.yaml": "gpu.yaml: line 1: there is no partition",
		"--config valid.yaml typo.yaml": `typo.yaml:1:28: unknown key "expects" in an assertion (hint: did you ` +
			`mean "expect"?)`,
		"--config valid.yaml --max-config-bytes 99 long.yaml": "long.yaml is longer than max-config-bytes (99)",
		"--config valid.yaml gpu.yaml -o xml":                 `for "--output" flag: it must be text or json`,
	} {
		code, out, errs := runCanopy(append([]string{"test"}, strings.Fields(args)...)...)
		assert.Equal(t, code, cmdline.Usage, args)
		assert.Equal(t, out, "", args)
		assert.Assert(t, strings.Contains(errs, want), "%s: %s", args, errs)
	}
}

func TestTestCommand_ExampleAssertions(t *testing.T) {
	config := filepath.Join(moduleRoot, "examples", "tenants.yaml")
	code, out, errs := runCanopy("test", "--config", config, filepath.Join(moduleRoot, "examples", "tenants_test.yaml"))
	assert.Equal(t, code, 0, out+errs)
	assert.Assert(t, strings.HasSuffix(out, "7 passed, 0 failed\n"), out)

	// Every assertion can fail: each change of the configuration makes at least one fail, and all
	// changes together make all fail.
	text, err := os.ReadFile(config)
	assert.NilError(t, err)
	dir := t.TempDir()
	failed := map[string]bool{}
	for was, is := range map[string]string{
		"maxapplications: 10\n":                     "maxapplications: 11\n",
		"submitacl: ' research'":                    "submitacl: ' research,marketing'",
		"- name: provided":                          "- {name: provided, filter: {type: deny, users: [olaf]}}",
		"max: {vcore: 60}":                          "max: {vcore: 50}",
		"guaranteed: {vcore: 20}, max: {vcore: 60}": "guaranteed: {vcore: 9}, max: {vcore: 60}",
		"groups: [interns]":                         "groups: [students]",
		"priority.policy: fence, ":                  "",
	} {
		assert.Assert(t, strings.Contains(string(text), was), was)
		changed := filepath.Join(dir, "changed.yaml")
		writeFile(t, changed, strings.Replace(string(text), was, is, 1))
		code, out, errs := runCanopy("test", "--config", changed, filepath.Join(moduleRoot, "examples", "tenants_test.yaml"))
		assert.Equal(t, code, cmdline.Refused, "%s: %s%s", was, out, errs)
		for _, line := range strings.Split(out, "\n") {
			if name, ok := strings.CutPrefix(line, "FAIL  "); ok {
				failed[strings.SplitN(name, ": ", 3)[1]] = true
			}
		}
	}
	assert.Equal(t, len(failed), 7, "%v", failed)
}
