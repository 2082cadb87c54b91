package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/conformance"
)

func TestConformanceCommand_RunsCasesAgainstAServer(t *testing.T) {
	p := startServer(t)
	address := p.GRPC
	t.Chdir(t.TempDir())
	code, out, errs := runLab("conformance", "--address", address, "--run", "asks/*", "--output", "json", "--report",
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

	code, out, errs = runLab("conformance", "--address", address, "--run", "nodes/unknown")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.HasPrefix(out, "pass  nodes/unknown ("), out)
	assert.Assert(t, strings.HasSuffix(out, "\n1 passed, 0 failed\n"), out)

	code, out, errs = runLab("conformance", "--address", address, "--run", "*/pr*")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0, out)
	assert.Assert(t, !strings.Contains(out, "canopy/") &&
		strings.HasSuffix(out, "\n1 passed, 0 failed, 1 skipped (--features)\n"), out)
	code, out, errs = runLab("conformance", "--address", address, "--run", "canopy/preferred-node", "--features",
		"canopy")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, 0, out)
	assert.Assert(t, strings.HasPrefix(out, "pass  canopy/preferred-node ("), out)
}

// Cases about Canopy's own tags are listed with the feature, and run only for endpoints that have it.
func TestConformanceCommand_FeaturesAreListed(t *testing.T) {
	code, out, _ := runLab("conformance", "--list", "--run", "canopy/*")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, "canopy/anti-affinity [feature canopy]\n"), out)
	code, out, _ = runLab("conformance", "--list", "--output", "json", "--run", "canopy/together")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, `"feature": "canopy"`), out)
	code, _, errs := runLab("conformance", "--run", "canopy/*")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "--run: the cases called \"canopy/*\" are about features that were not named"),
		errs)
	code, _, errs = runLab("conformance", "--features", "magic")
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "--features: no feature is called \"magic\": the features are canopy"), errs)
}

// A server with a configuration of its own ignores that of the cases, and fails those that need its queues.
func TestConformanceCommand_FailureSaysWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile("own.yaml",
		[]byte("partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: own}]}]}]"), 0o600))
	p := startServer(t, "--config", "own.yaml")
	code, out, errs := runLab("conformance", "--address", p.GRPC, "--run", "asks/priority", "--timeout",
		"500ms")
	assert.Equal(t, errs, "")
	assert.Equal(t, code, cmdline.Refused)
	for _, part := range []string{
		"FAIL  asks/priority", "demanded: When resources are freed",
		"missing, waited for 500ms at most: UpdateApplication accepted",
		"received instead: UpdateApplication rejected", "0 passed, 1 failed",
	} {
		assert.Assert(t, strings.Contains(out, part), "%q is not in %s", part, out)
	}
}

// The results are printed although the report cannot be written, and a report that cannot be created ends the command
// before it drives anything.
func TestConformanceCommand_UnwritableReport(t *testing.T) {
	p := startServer(t)
	t.Chdir(t.TempDir())
	code, out, errs := runLab("conformance", "--address", p.GRPC, "--run", "nodes/unknown", "--report",
		"missing/junit.xml")
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, out, "")
	assert.Assert(t, strings.HasPrefix(errs, "canopy-lab: --report: open missing/junit.xml: "), errs)
	if runtime.GOOS == "linux" {
		code, out, errs = runLab("conformance", "--address", p.GRPC, "--run", "nodes/unknown", "--report",
			"/dev/full", "-o", "json")
		assert.Equal(t, code, cmdline.Refused)
		assert.Assert(t, strings.Contains(out, `"passed": 1`), out)
		assert.Assert(t, strings.HasPrefix(errs, "canopy-lab: --report: write /dev/full: "), errs)
	}
}
