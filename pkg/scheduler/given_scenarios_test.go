package scheduler_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// givenChecksum is that of given.json: the given expectations must not be changed. Where Canopy differs,
// testdata/scenarios/REQUIREMENTS.md has the reasons.
const givenChecksum = "557fd422183c68d95f270a5c88a7eaa72f56584dbafc93600b10987dc968529f"

// scenarioHeader is the fields that all scenarios have besides given and expect.
type scenarioHeader struct {
	ID, Topic, Shows string

	// Origin of the scenario. The tests ignore these fields; unknown fields are errors.
	Source, SeedRefs    []string
	Authority, Verified string
	Notes               string
	DivergesFrom        map[string]any
}

// scenarioRunners run the scenarios of each topic.
var scenarioRunners = map[string]func(*testing.T, json.RawMessage){
	"victims-on-node":   decodeAndRun(runPreemptScenario),
	"node-choice":       decodeAndRun(runPreemptScenario),
	"disruption-budget": decodeAndRun(runPreemptScenario),
	"refusal":           decodeAndRun(runPreemptScenario),
	"nomination":        decodeAndRun(runPreemptScenario),
	"qos-order":         decodeAndRun(runPreemptScenario),
	"gang-victims":      decodeAndRun(runPreemptScenario),
	"queue-preemption":  decodeAndRun(runPreemptScenario),
	"fences":            decodeAndRun(runPreemptScenario),
	"required-node":     decodeAndRun(runPreemptScenario),
	"two-rights":        decodeAndRun(runPreemptScenario),
	"pressure-rank":     decodeAndRun(runPressureScenario),
	"queue-priority":    decodeAndRun(runOrderScenario),
	"app-priority":      decodeAndRun(runOrderScenario),
	"schedule-order":    decodeAndRun(runOrderScenario),
	"class-admission":   decodeAndRun(runAdmissionScenario),
	"quota-scope":       decodeAndRun(runQuotaScenario),
	"seed-corner":       runCornerScenario,
}

// runCornerScenario runs a scenario of the topic seed-corner: about order if it has steps, else about
// preemption.
func runCornerScenario(t *testing.T, text json.RawMessage) {
	var s struct {
		Given struct{ Steps []json.RawMessage }
	}
	assert.NilError(t, json.Unmarshal(text, &s))
	if len(s.Given.Steps) > 0 {
		decodeAndRun(runOrderScenario)(t, text)
		return
	}
	decodeAndRun(runPreemptScenario)(t, text)
}

// decodeAndRun decodes a scenario and runs it. A field that S does not have would be a condition or an
// expectation that no test checks, so it is an error.
func decodeAndRun[S any](run func(*testing.T, S)) func(*testing.T, json.RawMessage) {
	return func(t *testing.T, text json.RawMessage) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var s S
		assert.NilError(t, d.Decode(&s))
		run(t, s)
	}
}

// TestScenarios_AllGiven runs all scenarios: the given ones, the proposals that came with them, and those
// of this repository.
func TestScenarios_AllGiven(t *testing.T) {
	var missing []string
	for n := 1; n <= 109; n += 2 {
		missing = append(missing, fmt.Sprintf("SC-%03d", n))
	}
	for n := 1; n <= 10; n++ {
		missing = append(missing, fmt.Sprintf("CX-%02d", n))
	}
	assert.Equal(t, len(missing), 55+10)

	files, err := filepath.Glob("testdata/scenarios/*.json")
	assert.NilError(t, err)
	seen := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		if filepath.Base(name) == "given.json" {
			assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(text)), givenChecksum)
		}
		var file struct{ Scenarios []json.RawMessage }
		assert.NilError(t, json.Unmarshal(text, &file))
		for _, text := range file.Scenarios {
			var s struct{ ID, Topic, Shows string }
			assert.NilError(t, json.Unmarshal(text, &s))
			assert.Assert(t, !seen[s.ID], "duplicate scenario %s", s.ID)
			seen[s.ID] = true
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == s.ID })
			run, known := scenarioRunners[s.Topic]
			assert.Assert(t, known, "%s: unknown topic %s", s.ID, s.Topic)
			t.Run(s.ID+" "+s.Shows, func(t *testing.T) { run(t, text) })
		}
	}
	assert.Equal(t, len(missing), 0, "missing scenarios: %v", missing)
}
