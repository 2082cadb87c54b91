package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/testing/commandtest"
)

// runBenchCompare runs the command and returns its exit code.
func runBenchCompare(args []string, out, errs io.Writer) int {
	_, exit := cmdline.Execute(rootCommand(), append([]string{"bench", "compare"}, args...),
		strings.NewReader(""), out, errs)
	if exit.Err != nil {
		fmt.Fprintln(errs, exit)
	}
	return exit.Code
}

// benchReport is the text of a report with one cell; costs are the CPU per decision of its samples.
func benchReport(costs ...float64) string {
	var samples []string
	for _, c := range costs {
		samples = append(samples, fmt.Sprintf(`{"cpuPerDecision": %g}`, c))
	}
	return `{"version": "v1", "go": "go1", "cores": 2, "runs": 4, "suites": [{"name": "flat", "cells": [` +
		`{"name": "a", "digest": "d", "samples": [` + strings.Join(samples, ",") + "]}]}]}\n"
}

// inReportDirectory makes a directory with the files that the tests name the current one.
func inReportDirectory(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"old.json":       benchReport(10, 11, 12, 13),
		"reordered.json": benchReport(12, 10, 13, 11),
		"slow.json":      benchReport(20, 21, 22, 23),
		"slower.json":    benchReport(11.8, 12, 12.2, 13.1),
		"cut.json":       benchReport(10, 11, 12, 13)[:100],
		"queues.json":    `{"partitions": []}`,
		"empty.json":     "",
	} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
}

func TestBenchCompare_ExitCodesAndOutput(t *testing.T) {
	inReportDirectory(t)
	for _, c := range []struct {
		name      string
		args      []string
		wantCode  int
		want      string // somewhere in the output
		wantError string
	}{
		{name: "a file with itself", args: []string{"old.json", "old.json"}, want: "0 worse, 1 no difference"},
		{name: "in another order", args: []string{"old.json", "reordered.json"}, want: "0 worse, 1 no difference"},
		{name: "slower", args: []string{"old.json", "slow.json"}, wantCode: 1, want: "0 better, 1 worse"},
		{name: "faster", args: []string{"slow.json", "old.json"}, want: "1 better, 0 worse"},
		{name: "slower by less than the threshold", args: []string{"--threshold", "95%", "old.json", "slow.json"},
			want: "0 worse, 1 no difference, 0 too few runs; differences up to 95% do not count"},
		{name: "a threshold as a share", args: []string{"--threshold=0.125", "old.json", "slow.json"}, wantCode: 1,
			want: "differences up to 12.5% do not count"},
		{name: "overlapping", args: []string{"old.json", "slower.json"}, want: "0 worse, 1 no difference"},

		{name: "no file", wantCode: 2, wantError: "name two files, the old report and the new one, not 0"},
		{name: "one file", args: []string{"old.json"}, wantCode: 2,
			wantError: "name two files, the old report and the new one, not 1"},
		{name: "three files", args: []string{"a", "b", "c"}, wantCode: 2,
			wantError: "name two files, the old report and the new one, not 3"},
		{name: "a missing file", args: []string{"old.json", "new.json"}, wantCode: 2,
			wantError: "open new.json: no such file or directory"},
		{name: "a directory", args: []string{"old.json", "."}, wantCode: 2, wantError: ".: read .: is a directory"},
		{name: "a truncated file", args: []string{"cut.json", "old.json"}, wantCode: 2,
			wantError: "cut.json: line 1, column 101: the file ends too early (at /suites/0/cells/0/name)"},
		{name: "an empty file", args: []string{"old.json", "empty.json"}, wantCode: 2,
			wantError: "empty.json: line 1, column 1: the file ends too early"},
		{name: "a file that is no report", args: []string{"queues.json", "old.json"}, wantCode: 2,
			wantError: `queues.json: line 1, column 2: unknown field "partitions", so not a report of this version` +
				" (at /partitions)"},
		{name: "an unknown output format", args: []string{"-o", "html", "old.json", "old.json"}, wantCode: 2,
			wantError: `invalid argument "html" for "--output" flag: it must be text or json`},
		{name: "an unknown flag", args: []string{"--strict", "old.json", "old.json"}, wantCode: 2,
			wantError: "unknown flag: --strict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := runBenchCompare(c.args, &out, &errs)
			assert.Equal(t, code, c.wantCode, "%s%s", &out, &errs)
			assert.Equal(t, strings.TrimSuffix(errs.String(), "\n"), c.wantError)
			assert.Assert(t, strings.Contains(out.String(), c.want), "%s", &out)
			if c.wantCode == cmdline.Usage {
				assert.Equal(t, out.String(), "")
			}
		})
	}
}

func TestBenchCompare_InvalidThresholds(t *testing.T) {
	for _, threshold := range []string{"5", "1", "-0.1", "-5%", "100%", "NaN", "nan%", "Inf", "", "%", "five"} {
		var out, errs bytes.Buffer
		assert.Equal(t, runBenchCompare([]string{"--threshold=" + threshold, "a", "b"}, &out, &errs), cmdline.Usage)
		assert.Equal(t, errs.String(),
			fmt.Sprintf("--threshold is a share below 1, such as 5%% or 0.05, not %q\n", threshold))
	}
}

func TestBenchCompare_JSON(t *testing.T) {
	inReportDirectory(t)
	var out, errs bytes.Buffer
	assert.Equal(t, runBenchCompare([]string{"--output", "json", "old.json", "slow.json"}, &out, &errs), cmdline.Refused)
	assert.Equal(t, errs.String(), "")
	var got struct {
		Figures []struct {
			Cell, Metric, Verdict string
			Ratio                 struct{ Value float64 }
		}
		Verdicts struct{ Worse int }
	}
	assert.NilError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, len(got.Figures), 1)
	assert.Equal(t, got.Figures[0].Verdict, "worse")
	assert.Equal(t, got.Figures[0].Metric, "cpuPerDecision")
	assert.Equal(t, got.Figures[0].Ratio.Value, 21.5/11.5)
	assert.Equal(t, got.Verdicts.Worse, 1)
}

// Without a figure there is no verdict: exit code 0 would mean that no figure is worse.
func TestBenchCompare_NothingComparedIsNoVerdict(t *testing.T) {
	inReportDirectory(t)
	assert.NilError(t,
		os.WriteFile("other.json", []byte(strings.Replace(benchReport(10, 11, 12, 13), `"digest": "d"`, `"digest": "e"`, 1)),
			0o600))
	for output, want := range map[string]struct{ out, errs string }{
		"text": {out: "\nnot compared:\n"}, "json": {out: `"figures": []`, errs: report.NothingCompared + "\n"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, runBenchCompare([]string{"--output", output, "old.json", "other.json"}, &out, &errs), cmdline.Usage)
		assert.Equal(t, errs.String(), want.errs)
		assert.Assert(t, strings.Contains(out.String(), want.out), "%s", &out)
		if output == "text" {
			assert.Assert(t, strings.Contains(out.String(), report.NothingCompared+"\n"), "%s", &out)
		}
	}
}

// Exit code 1 would mean that a figure is worse.
func TestBenchCompare_FullDisk(t *testing.T) {
	inReportDirectory(t)
	for _, output := range []string{"text", "json"} {
		var errs bytes.Buffer
		assert.Equal(t, runBenchCompare([]string{"--output", output, "old.json", "slow.json"}, commandtest.FullDisk{}, &errs),
			cmdline.Usage)
		assert.Equal(t, errs.String(), "no space left\n")
	}
}
