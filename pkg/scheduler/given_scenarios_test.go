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

// givenSum is that of given.json, which is as it came: what is expected there is not ours to
// change. Where we differ, docs/PRIORITY.md says why.
const givenSum = "557fd422183c68d95f270a5c88a7eaa72f56584dbafc93600b10987dc968529f"

// caption is what every worked case has beside what is given and expected.
type caption struct {
	ID, Topic, Shows string

	// From where it is. Nobody reads these here, but what nobody knows is refused.
	Source, SeedRefs    []string
	Authority, Verified string
	Notes               string
	DivergesFrom        map[string]any
}

// players say how a case of a topic is played.
var players = map[string]func(*testing.T, json.RawMessage){
	"victims-on-node":   played(playPreemption),
	"node-choice":       played(playPreemption),
	"disruption-budget": played(playPreemption),
	"refusal":           played(playPreemption),
	"nomination":        played(playPreemption),
	"qos-order":         played(playPreemption),
	"gang-victims":      played(playPreemption),
	"queue-preemption":  played(playPreemption),
	"fences":            played(playPreemption),
	"required-node":     played(playPreemption),
	"two-rights":        played(playPreemption),
	"pressure-rank":     played(playPressure),
	"queue-priority":    played(playOrder),
	"app-priority":      played(playOrder),
	"schedule-order":    played(playOrder),
	"class-admission":   played(playAdmission),
	"quota-scope":       played(playQuotas),
	"seed-corner":       playCorner,
}

// playCorner plays the corners of any topic, which have steps if they are about priorities.
func playCorner(t *testing.T, text json.RawMessage) {
	var s struct {
		Given struct{ Steps []json.RawMessage }
	}
	assert.NilError(t, json.Unmarshal(text, &s))
	if len(s.Given.Steps) > 0 {
		played(playOrder)(t, text)
		return
	}
	played(playPreemption)(t, text)
}

// played reads a case before it is played. A field that S does not have would be a condition
// or an expectation that nobody looks at, so it is a mistake.
func played[S any](play func(*testing.T, S)) func(*testing.T, json.RawMessage) {
	return func(t *testing.T, text json.RawMessage) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var s S
		assert.NilError(t, d.Decode(&s))
		play(t, s)
	}
}

// TestGivenScenarios plays every worked case there is: those that were given, the proposals that
// came with them, and our own.
func TestGivenScenarios(t *testing.T) {
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
			assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(text)), givenSum)
		}
		var file struct{ Scenarios []json.RawMessage }
		assert.NilError(t, json.Unmarshal(text, &file))
		for _, text := range file.Scenarios {
			var s struct{ ID, Topic, Shows string }
			assert.NilError(t, json.Unmarshal(text, &s))
			assert.Assert(t, !seen[s.ID], "%s is there twice", s.ID)
			seen[s.ID] = true
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == s.ID })
			play, known := players[s.Topic]
			assert.Assert(t, known, "%s: nobody knows how to play topic %s", s.ID, s.Topic)
			t.Run(s.ID+" "+s.Shows, func(t *testing.T) { play(t, text) })
		}
	}
	assert.Equal(t, len(missing), 0, "not there: %v", missing)
}
