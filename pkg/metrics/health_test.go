package metrics

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// Only a running step makes a partition busy, however long ago the last one ended (OBS-101).
func TestWriteHealth_AtRestNothingIsBusy(t *testing.T) {
	at := time.Unix(1000, 0)
	s := &scrape{m: &Metrics{}, at: at, health: map[string]loop.Health{
		"rests": {Progress: at.Add(-time.Hour), AtRest: true}, "works": {Progress: at.Add(-90 * time.Second), Waiting: 3},
		"new": {}, "ahead": {Progress: at.Add(time.Second)},
	}}
	x := newGathering(nil)
	s.writeHealth(x)
	for name, want := range map[string]string{"rests": "0", "works": "90", "new": "0", "ahead": "0"} {
		line := `canopy_partition_busy_seconds{partition="` + name + `"} ` + want + "\n"
		assert.Assert(t, strings.Contains(textOf(t, x), line), "no %s in %s", line, textOf(t, x))
	}
}
