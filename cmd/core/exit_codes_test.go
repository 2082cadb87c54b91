package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/testing/commandtest"
)

func canopyProgram() *commandtest.Program {
	return &commandtest.Program{Root: rootCommand(), Codes: exitCodes, Run: runCanopy}
}

func TestExitCodes_EveryCommandIsInTheTable(t *testing.T) {
	canopyProgram().CodesAreDocumented(t, "../../docs/EXIT_CODES.md", "help")
}

func TestExitCodes_InvalidCommandLines(t *testing.T) {
	canopyProgram().InvalidCommandLinesAreRefused(t, func(command string) int {
		if command == "plan" {
			return cmdline.Refused
		}
		return cmdline.Usage
	}, "validate", "test", "explain")
}

// The exit code of a command is its verdict.
func TestExitCodes_Verdicts(t *testing.T) {
	inDirectory(t)
	writeFile(t, "empty.yaml", "")
	writeFile(t, "other.yaml", strings.Replace(validQueues, "'*'}", "'*', queues: [{name: a}]}", 1))
	writeFile(t, "right.yaml", "assertions:\n- {name: a, place: {user: ann, queue: root.a}, expect: {queue: root.a}}\n")
	writeFile(t, "wrong.yaml", "assertions:\n- {name: a, place: {user: ann, queue: root.a}, expect: {queue: root.b}}\n")
	const nowhere = " --address 127.0.0.1:1"
	for args, want := range map[string]int{
		"validate valid.yaml": 0, "validate warned.yaml": 0, "validate --strict warned.yaml": 1, "validate broken.yaml": 1,
		"validate empty.yaml":   1,
		"validate missing.yaml": 2, "validate broken.yaml missing.yaml": 2, "validate": 2, "validate valid.yaml" + nowhere: 2,
		"validate --rules": 0,
		"plan --config valid.yaml --against valid.yaml": 0, "plan --config other.yaml --against valid.yaml": 2,
		"plan --config broken.yaml --against valid.yaml": 1, "plan --config missing.yaml --against valid.yaml": 1,
		"plan --config valid.yaml":           1,
		"plan --config valid.yaml" + nowhere: 1, "plan --config empty.yaml --against valid.yaml": 1,
		"place --config other.yaml --user ann --queue root.a": 0, "place --config other.yaml --user ann --queue root.b": 1,
		"place --config other.yaml": 2, "place --config broken.yaml --user ann": 2,
		"place --config missing.yaml --user ann": 2, "place --config empty.yaml --user ann": 2,
		"test --config other.yaml right.yaml": 0, "test --config other.yaml wrong.yaml": 1,
		"test --config other.yaml valid.yaml":  2,
		"test --config broken.yaml right.yaml": 2, "test --config other.yaml missing.yaml": 2,
		"test --config empty.yaml right.yaml": 2,
		"serve --config broken.yaml":          1, "serve --config empty.yaml": 1, "serve --config missing.yaml": 2,
		"serve --log-level loud": 2, "serve --audit-interval=-1s": 2,
		"explain": 2, "explain key" + nowhere: 1, "explain key --address x": 2,
		"preempt": 2, "preempt --list" + nowhere: 2, "events" + nowhere: 1, "events --since x": 2,
		"demo --nodes 0": 2, "schema": 0, "replay --nodes x": 2, "bench run": 2, "recording": 2,
		"version": 0,
	} {
		code, out, errs := runCanopy(strings.Fields(args)...)
		assert.Equal(t, code, want, "%s: %s%s", args, out, errs)
	}
}

// A command whose output cannot be written has not succeeded.
func TestExitCodes_UnwritableOutput(t *testing.T) {
	inDirectory(t)
	writeFile(t, "other.yaml", strings.Replace(validQueues, "'*'}", "'*', queues: [{name: a}]}", 1))
	for _, args := range []string{
		"validate valid.yaml", "validate broken.yaml", "validate -o json valid.yaml", "validate --rules",
		"plan --config other.yaml --against other.yaml", "plan --config other.yaml --against other.yaml -o json",
		"place --config other.yaml --user ann --queue root.a", "schema", "version",
	} {
		var errs strings.Builder
		code := run(strings.Fields(args), strings.NewReader(""), commandtest.FullDisk{}, &errs)
		assert.Assert(t, code != 0, args)
		assert.Assert(t, strings.Contains(errs.String(), "no space left"), "%s: %s", args, &errs)
	}
}
