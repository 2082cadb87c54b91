package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/conformance"
)

func TestConformanceCommand_RunsCasesAgainstAServer(t *testing.T) {
	p, s := startServing(t, buildProgram(t))
	address := s.conn.Target()
	inDirectory(t)
	code, out, errs := runCanopy("conformance", "--address", address, "--run", "asks/*", "--output", "json", "--report",
		"junit.xml")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0, out)
	var report struct {
		Address        string
		Passed, Failed int
		Cases          []struct{ Name string }
	}
	assert.NilError(t, json.Unmarshal([]byte(out), &report))
	cases, _, err := conformance.Select("asks/*")
	assert.NilError(t, err)
	assert.Equal(t, report.Address, address)
	assert.Equal(t, report.Passed, len(cases))
	assert.Equal(t, report.Failed, 0)
	junit, err := os.ReadFile("junit.xml")
	assert.NilError(t, err)
	assert.Equal(t, strings.Count(string(junit), "<testcase "), len(cases))

	code, out, errs = runCanopy("conformance", "--address", address, "--run", "nodes/unknown")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.HasPrefix(out, "pass  nodes/unknown ("), out)
	assert.Assert(t, strings.HasSuffix(out, "\n1 passed, 0 failed\n"), out)

	code, out, errs = runCanopy("conformance", "--address", address, "--run", "*/pr*")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0, out)
	assert.Assert(t, !strings.Contains(out, "canopy/") &&
		strings.HasSuffix(out, "\n1 passed, 0 failed, 1 skipped (--features)\n"), out)
	code, out, errs = runCanopy("conformance", "--address", address, "--run", "canopy/preferred-node", "--features",
		"canopy")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0, out)
	assert.Assert(t, strings.HasPrefix(out, "pass  canopy/preferred-node ("), out)
	p.stop()
}

// Cases about Canopy's own tags are listed with the feature, and run only for endpoints that have it.
func TestConformanceCommand_FeaturesAreListed(t *testing.T) {
	code, out, _ := runCanopy("conformance", "--list", "--run", "canopy/*")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, "canopy/anti-affinity [feature canopy]\n"), out)
	code, out, _ = runCanopy("conformance", "--list", "--output", "json", "--run", "canopy/together")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, `"feature": "canopy"`), out)
	code, _, errs := runCanopy("conformance", "--run", "canopy/*")
	assert.Equal(t, code, exitUsage)
	assert.Assert(t, strings.Contains(errs, "--run: the cases called \"canopy/*\" are about features that were not named"),
		errs)
	code, _, errs = runCanopy("conformance", "--features", "magic")
	assert.Equal(t, code, exitUsage)
	assert.Assert(t, strings.Contains(errs, "--features: no feature is called \"magic\": the features are canopy"), errs)
}

// A server with a configuration of its own ignores that of the cases, and fails those that need its queues.
func TestConformanceCommand_FailureSaysWhatIsMissing(t *testing.T) {
	inDirectory(t)
	writeFile(t, "own.yaml",
		"partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: own}]}]}]")
	p, s := startServing(t, buildProgram(t), "--config", "own.yaml")
	code, out, errs := runCanopy("conformance", "--address", s.conn.Target(), "--run", "asks/priority", "--timeout",
		"500ms")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, exitRefused)
	for _, part := range []string{
		"FAIL  asks/priority", "demanded: When resources are freed",
		"missing, waited for 500ms at most: UpdateApplication accepted",
		"received instead: UpdateApplication rejected", "0 passed, 1 failed",
	} {
		assert.Assert(t, strings.Contains(out, part), "%q is not in %s", part, out)
	}
	p.stop()
}

// The results are printed although the report cannot be written, and a report that cannot be created ends the command
// before it drives anything.
func TestConformanceCommand_UnwritableReport(t *testing.T) {
	p, s := startServing(t, buildProgram(t))
	inDirectory(t)
	code, out, errs := runCanopy("conformance", "--address", s.conn.Target(), "--run", "nodes/unknown", "--report",
		"missing/junit.xml")
	assert.Equal(t, code, exitRefused)
	assert.Equal(t, out, "")
	assert.Assert(t, strings.HasPrefix(errs, "canopy: --report: open missing/junit.xml: "), errs)
	if runtime.GOOS == "linux" {
		code, out, errs = runCanopy("conformance", "--address", s.conn.Target(), "--run", "nodes/unknown", "--report",
			"/dev/full", "-o", "json")
		assert.Equal(t, code, exitRefused)
		assert.Assert(t, strings.Contains(out, `"passed": 1`), out)
		assert.Assert(t, strings.HasPrefix(errs, "canopy: --report: write /dev/full: "), errs)
	}
	p.stop()
}
