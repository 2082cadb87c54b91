package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

const (
	validQueues  = "partitions: [{queues: [{name: root, submitacl: '*'}]}]\n"
	warnedQueues = "partitions: [{queues: [{name: root}]}]\n"
	brokenQueues = `partitions:
- queues:
  - name: root
    submitACL: '*'
    submitacl: '*'
    properties:
      priority.offest: 5
    queues:
    - name: a.b
`
)

// runValidate runs the command and returns its exit code with what it printed.
func runValidate(t *testing.T, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	_, exit := cmdline.Execute(rootCommand(), append([]string{"validate"}, args...), strings.NewReader(stdin),
		&stdout, &stderr)
	return exit.Code, stdout.String(), stderr.String() + exit.Error()
}

// inDirectory makes a directory with the files that the tests name the current one.
func inDirectory(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"valid.yaml": validQueues, "warned.yaml": warnedQueues, "broken.yaml": brokenQueues,
	} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	assert.NilError(t, os.WriteFile(name, []byte(text), 0o600))
}

func TestValidate_Text(t *testing.T) {
	inDirectory(t)
	for _, c := range []struct {
		name      string
		stdin     string
		args      []string
		wantCode  int
		want      string
		wantError string
	}{
		{name: "a valid file", args: []string{"valid.yaml"}, want: "valid.yaml: valid\n"},
		{name: "standard input", stdin: validQueues, args: []string{"-"}, want: "-: valid\n"},
		{name: "a warning is no failure", args: []string{"warned.yaml"},
			want: "warned.yaml:1:31: warning [no-submit-access] root: no queue has a submitacl or adminacl, so no user can" +
				" submit an application (hint: submitacl: '*' on root allows every user)\nwarned.yaml: valid, 1 warning\n"},
		{name: "errors are a failure", args: []string{"valid.yaml", "broken.yaml"}, wantCode: 1,
			want: "valid.yaml: valid\n" +
				"broken.yaml:4:5: error [yaml-unknown-key] root: unknown key \"submitACL\" in a queue" +
				" (hint: did you mean \"submitacl\"?)\n" +
				"broken.yaml:7:7: warning [property-unknown] root: unknown property \"priority.offest\" has no effect" +
				" (hint: did you mean \"priority.offset\"?)\n" +
				"broken.yaml:9:13: error [V5] root.a.b: queue name \"a.b\" is not legal" +
				" (hint: 1 to 64 letters, digits or any of _ : # / @ -)\n" +
				"broken.yaml: 2 errors, 1 warning\n"},
		{name: "files after a missing one are checked", args: []string{"missing.yaml", "valid.yaml"},
			wantCode: 2, want: "valid.yaml: valid\n",
			wantError: "missing.yaml: unreadable: open missing.yaml: no such file or directory\n"},
		{name: "no file", wantCode: 2, wantError: "name at least one file, or - for standard input"},
		{name: "an unknown output format", args: []string{"-o", "xml", "valid.yaml"}, wantCode: 2,
			wantError: `invalid argument "xml" for "--output" flag: it must be text or json`},
		{name: "an unknown flag", args: []string{"--nonsense", "valid.yaml"}, wantCode: 2,
			wantError: "unknown flag: --nonsense"},
		{name: "with --strict a warning is an error", args: []string{"--strict", "valid.yaml", "warned.yaml"}, wantCode: 1,
			want: "valid.yaml: valid\nwarned.yaml:1:31: error [no-submit-access] root: no queue has a submitacl or adminacl, " +
				"so no user can" +
				" submit an application (hint: submitacl: '*' on root allows every user)\nwarned.yaml: 1 error\n"},
		{name: "an invalid address", args: []string{"--address", "nowhere", "valid.yaml"}, wantCode: 2,
			wantError: `invalid argument "nowhere" for "--address" flag: address nowhere: missing port in address`},
		{name: "a timeout of zero", args: []string{"--timeout", "0s", "valid.yaml"}, wantCode: 2,
			wantError: `invalid argument "0s" for "--timeout" flag: it must be above 0`},
		{name: "an empty file", args: []string{"-"}, wantCode: 1,
			want: "-:1:1: error [no-partition] the document is empty (hint: the smallest one is partitions: [{queues: [{name: " +
				"root, submitacl: '*'}]}])\n-: 1 error\n"},
		{name: "rules of a file", args: []string{"--rules", "valid.yaml"}, wantCode: 2,
			wantError: "--rules takes no files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := runValidate(t, c.stdin, c.args...)
			assert.Equal(t, code, c.wantCode)
			assert.Equal(t, out, c.want)
			assert.Equal(t, errs, c.wantError)
		})
	}
}

func TestValidate_JSON(t *testing.T) {
	inDirectory(t)
	code, out, errs := runValidate(t, "", "--output", "json", "valid.yaml", "broken.yaml", "missing.yaml")
	assert.Equal(t, code, 2)
	assert.Equal(t, errs, "")
	assert.Assert(t, strings.Contains(out, `"problems": []`), "a list is never null")
	var got validationOutput
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, got.Errors, 2)
	assert.Equal(t, got.Warnings, 1)
	assert.Equal(t, len(got.Files), 3)
	assert.Assert(t, got.Files[0].Valid && !got.Files[1].Valid && !got.Files[2].Valid)
	assert.Equal(t, got.Files[2].Unreadable, "open missing.yaml: no such file or directory")
	assert.DeepEqual(t, got.Files[1].Problems[0], validation.Problem{
		Line: 4, Col: 5, Path: "root", RuleID: "yaml-unknown-key", Severity: validation.Error,
		Message: `unknown key "submitACL" in a queue`, Hint: `did you mean "submitacl"?`,
	})
	code, _, _ = runValidate(t, brokenQueues, "-o", "json", "-")
	assert.Equal(t, code, 1)
}

func TestValidate_Rules(t *testing.T) {
	code, out, _ := runValidate(t, "", "--rules")
	assert.Equal(t, code, 0)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	assert.Equal(t, len(lines), 1+len(validation.Rules()))
	assert.Assert(t, strings.HasPrefix(lines[0], "RULE "))
	assert.Assert(t, strings.Contains(out, "\nV6                           error     names of siblings are unique"))

	code, out, _ = runValidate(t, "", "--rules", "-o", "json")
	assert.Equal(t, code, 0)
	var got struct {
		Rules []struct{ ID, Severity, Summary string }
	}
	assert.NilError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, len(got.Rules), len(validation.Rules()))
}

func TestValidate_InputIsBounded(t *testing.T) {
	code, out, _ := runValidate(t, strings.Repeat("#", queuesyaml.DefaultOptions().MaxBytes+5), "-")
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.HasPrefix(out, "-:1:1: error [bound-bytes] "), out)
}

// nodesServer is a server whose nodes have a capacity.
func nodesServer(t *testing.T, capacity string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws/v1/partitions" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `[{"name":"default","capacity":{"capacity":%s}}]`, capacity)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestValidate_WithNodesOfServer(t *testing.T) {
	const file = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, resources: {max: " +
		"{nvidia.com/gpus: 2, memory: 1Gi}}}]}]}]\n"
	const want = `-:1:90: warning [resource-absent] root.a: max is for a resource "nvidia.com/gpus", which no node has ` +
		`(hint: did you mean "nvidia.com/gpu"?)` + "\n-: valid, 1 warning\n"
	address := nodesServer(t, `{"memory":1,"nvidia.com/gpu":8}`)
	code, out, _ := runValidate(t, file, "--address", address, "-")
	assert.Equal(t, code, 0)
	assert.Equal(t, out, want)
	code, _, _ = runValidate(t, file, "--address", address, "--strict", "-")
	assert.Equal(t, code, 1)
	code, out, _ = runValidate(t, strings.Replace(file, "gpus", "gpu", 1), "--address", address, "--strict", "-")
	assert.Equal(t, out, "-: valid\n")
	assert.Equal(t, code, 0)
	code, _, errs := runValidate(t, file, "--address", "127.0.0.1:1", "-")
	assert.Equal(t, code, 2)
	assert.Assert(t, strings.Contains(errs, "127.0.0.1:1"), errs)
}

// The second - would be an empty file, with errors that standard input does not have.
func TestValidate_StandardInputTwiceIsUsageError(t *testing.T) {
	code, out, errs := runValidate(t, validQueues, "-", "-")
	assert.Equal(t, code, cmdline.Usage)
	assert.Equal(t, out, "")
	assert.Equal(t, errs, "- is standard input, which can be read only once, and it is given more than once")
}
