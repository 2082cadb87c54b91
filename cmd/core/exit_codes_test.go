package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"gotest.tools/v3/assert"
)

// eachCommand calls f with every command that can be run, and its arguments.
func eachCommand(c *cobra.Command, f func(c *cobra.Command, args []string)) {
	for _, sub := range c.Commands() {
		if sub.Name() == "completion" || sub.Hidden {
			continue // cobra's own, and commands that only the program starts
		}
		if !sub.HasSubCommands() && sub.Runnable() {
			f(sub, strings.Fields(sub.CommandPath())[1:])
		}
		eachCommand(sub, f)
	}
}

func TestExitCodes_EveryCommandIsInTheTable(t *testing.T) {
	var want, got []string
	eachCommand(rootCommand(), func(_ *cobra.Command, args []string) { want = append(want, strings.Join(args, " ")) })
	for _, c := range exitCodes {
		got = append(got, strings.Split(c.commands, ", ")...)
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
	var b strings.Builder
	assert.NilError(t, writeExitCodes(&b))
	text, err := os.ReadFile("../../docs/EXIT_CODES.md")
	assert.NilError(t, err)
	assert.Equal(t, string(text), b.String(), "docs/EXIT_CODES.md is made from the table")
}

// An invalid command line is a usage error of every command, with a message of the program on
// standard error alone.
func TestExitCodes_InvalidCommandLines(t *testing.T) {
	wrong := func(want int, args ...string) {
		t.Helper()
		code, out, errs := runCanopy(args...)
		assert.Equal(t, code, want, "%v: %s", args, errs)
		assert.Equal(t, out, "", "%v", args)
		assert.Assert(t, strings.HasPrefix(errs, "canopy: "), "%v: %q", args, errs)
	}
	count := 0
	eachCommand(rootCommand(), func(c *cobra.Command, args []string) {
		want := exitUsage
		if c.Name() == "plan" {
			want = exitRefused
		}
		wrong(want, append(args, "--nonsense")...)
		if c.Name() != "help" && c.Name() != "validate" && c.Name() != "test" && c.Name() != "explain" {
			wrong(want, append(args, "extra", "extra2", "extra3")...) // others take arguments
		}
		if c.Flags().Lookup("output") != nil {
			wrong(want, append(args, "--output", "xml")...)
		}
		code, out, errs := runCanopy(append(args, "--help")...)
		assert.Assert(t, code == 0 && out != "" && errs == "", "%v --help: %d %s", args, code, errs)
		code, again, _ := runCanopy(append([]string{"help"}, args...)...)
		assert.Assert(t, code == 0 && again == out, "help %v: %d", args, code)
		count++
	})
	assert.Assert(t, count > len(exitCodes))
	for _, args := range [][]string{{"nonsense"}, {"--nonsense"}, {"bench", "nonsense"}, {"help", "nonsense"},
		{"help", "bench", "nonsense"}, {"completion", "nonsense"}} {
		wrong(exitUsage, args...)
	}
	for _, args := range [][]string{{}, {"help"}, {"bench"}, {"--help"}, {"help", "exit-codes"}, {"completion", "bash"}} {
		code, out, errs := runCanopy(args...)
		assert.Assert(t, code == 0 && out != "" && errs == "", "%v: %d %s", args, code, errs)
	}
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
		"replay": 2, "replay --nodes missing.csv --pods missing.csv": 2, "trace-synth": 2, "demo --nodes 0": 2,
		"conformance --list": 0, "conformance" + nowhere: 1, "conformance --run nothing": 2,
		"conformance --features nothing": 2, "conformance --timeout 0s": 2,
		"bench run --suite nonsense": 2, "bench compare missing.json missing.json": 2, "bench list": 0, "schema": 0,
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
		"place --config other.yaml --user ann --queue root.a", "schema", "version", "bench list",
	} {
		var errs strings.Builder
		code := run(strings.Fields(args), strings.NewReader(""), fullDisk{}, &errs)
		assert.Assert(t, code != 0, args)
		assert.Assert(t, strings.Contains(errs.String(), "no space left"), "%s: %s", args, &errs)
	}
}
