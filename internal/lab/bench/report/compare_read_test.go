package report

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
)

func TestReadReport_RoundTrip(t *testing.T) {
	want := sampleReport()
	text, err := json.MarshalIndent(want, "", "  ")
	assert.NilError(t, err)
	got, err := ReadReport(strings.NewReader(string(text)))
	assert.NilError(t, err)
	assert.DeepEqual(t, got, want)
}

// suiteReport returns the text of a report with these suites.
func suiteReport(suites string) string {
	return `{"version": "v1", "go": "go1", "cores": 2, "runs": 3, "suites": ` + suites + `}`
}

func cellReport(fields string) string {
	return suiteReport(`[{"name": "s", "cells": [{` + fields + `}]}]`)
}

func TestReadReport_Errors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "line 1, column 1: the file ends too early"},
		{"a list", "[1]", "line 1, column 1: not a report"},
		{"null", "null", "not a report: it does not say which version of canopy or Go was measured"},
		{"an empty object", "{}", "not a report: it does not say which version of canopy or Go was measured"},
		{"a file that was cut off", "{\"version\": \"v1\",\n\"suites\": [{\"na",
			"line 2, column 16: the file ends too early (at /suites/0)"},
		{"more after the end", suiteReport("[]") + "{}",
			"line 1, column 68: invalid character '{' after top-level value"},
		{"a field of something else", "{\n  \"partitions\": []}",
			`line 2, column 3: unknown field "partitions", so not a report of this version (at /partitions)`},
		{"another spelling of a field", `{"Version": "v1"}`,
			`line 1, column 2: unknown field "Version", so not a report of this version (at /Version)`},
		{"a field that is there twice", `{"seed": 1, "seed": 2}`,
			`line 1, column 13: duplicate object member name (at /seed)`},
		{"a word instead of a number", `{"cores": "two"}`, "line 1, column 11: a string does not belong here (at /cores)"},
		{"a number without bounds", `{"suites": [{"cells": [{"samples": [{"idleCPU": 1e999}]}]}]}`,
			"line 1, column 49: value out of range (at /suites/0/cells/0/samples/0/idleCPU)"},
		{"no number at all", `{"suites": [{"cells": [{"samples": [{"idleCPU": NaN}]}]}]}`,
			"line 1, column 49: invalid character 'N' at start of value (at /suites/0/cells/0/samples/0/idleCPU)"},
		{"no cores", `{"version": "v", "go": "go", "runs": 1}`, "not a report: cores is 0"},
		{"no runs", `{"version": "v", "go": "go", "cores": 1, "runs": -1}`, "not a report: runs is -1"},
		{"no suites", suiteReport("[]"), "not a report: it has no suites"},
		{"a suite without a name", suiteReport(`[{}]`), "suite number 1 has no name"},
		{"two suites of a name", suiteReport(`[{"name": "s"}, {"name": "s"}]`), `suite "s": there are two of this name`},
		{"a cell without a name", cellReport(""), `suite "s", cell number 1: it has no name`},
		{"two cells of a name", cellReport(`"name": "c"}, {"name": "c"`), `suite "s", cell "c": there are two of this name`},
		{"a size below zero", cellReport(`"name": "c", "size": -1`), `suite "s", cell "c": size is -1`},
		{"samples of unknown work", cellReport(`"name": "c", "samples": [{}]`),
			`suite "s", cell "c": there are samples, and no digest of the work`},
		{"a figure below zero", cellReport(`"name": "c", "digest": "d", "samples": [{}, {"idleCPU": -0.5}]`),
			`suite "s", cell "c": sample number 2: idleCPU is -0.5`},
		{"an unknown metric", cellReport(`"name": "c", "digest": "d", "samples": [{"speed": 1}]`),
			`suite "s", cell "c": sample number 1: unknown metric "speed"`},
		{"an unknown merged metric", cellReport(`"name": "c", "digest": "d", "samples": [{}], "merged": {"p": 1}`),
			`suite "s", cell "c": merged: unknown metric "p"`},
		{"more than a report can have", strings.Repeat(" ", maxReportBytes+1), "not a report: longer than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadReport(strings.NewReader(c.text))
			assert.Error(t, err, c.want)
		})
	}
	broken := errors.New("the disk is on fire")
	_, err := ReadReport(iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
}

// Whatever can be read can also be shown, and does not differ from itself.
func FuzzReadReport(f *testing.F) {
	text, err := json.Marshal(sampleReport())
	assert.NilError(f, err)
	f.Add(string(text))
	f.Add(string(text[:len(text)/2]))
	f.Add(suiteReport(`[{"name": "s", "axis": "levels", "cells": [
		{"name": "a", "digest": "d", "size": 1e-320, "samples": [{"cpuPerDecision": 5e-324, "decisionP50": 5e-324}]},
		{"name": "b", "digest": "d", "size": 1e308, "samples": [{"cpuPerDecision": 1.7e308, "decisionP50": 1.7e308}]},
		{"name": "c", "digest": "d", "size": 7, "samples": [{"cpuPerDecision": 0}, {"cpuPerDecision": 1.7e308}]}]}]`))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ReadReport(strings.NewReader(text))
		if err != nil {
			assert.Assert(t, !strings.ContainsAny(err.Error(), "\n\x1b"), "%q", err)
			return
		}
		assert.NilError(t, WriteText(io.Discard, r))
		wellFormed(t, r)
		c := Compare(r, r, 0)
		assert.Equal(t, c.Verdicts.Worse+c.Verdicts.Better, 0)
		assert.NilError(t, c.WriteText(io.Discard))
		_, err = json.Marshal(c)
		assert.NilError(t, err)
	})
}
