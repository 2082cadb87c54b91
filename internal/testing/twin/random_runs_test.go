package twin

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// stepsPerRun is the number of steps of a run.
const stepsPerRun = 300

// TestRandomRuns executes random runs. The environment variables CANOPY_TWIN_SEED and CANOPY_TWIN_RUNS
// set the first seed and the number; make twin sets them. Otherwise package testscale sets the number.
func TestRandomRuns(t *testing.T) {
	first := envNumber(t, "CANOPY_TWIN_SEED", 1)
	runs := int(envNumber(t, "CANOPY_TWIN_RUNS", uint64(testscale.Runs(500))))
	var shortened atomic.Bool
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprintf("every eighth from seed %d", first+uint64(shard)), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < runs && !t.Failed(); i += shards {
				executeAndReport(t, randomrun.RandomRun(first+uint64(i), stepsPerRun), &shortened)
			}
		})
	}
}

// executeAndReport executes runs. It prints one of the failed ones, shortened.
func executeAndReport(t *testing.T, s randomrun.Run, shortened *atomic.Bool) {
	f := Execute(s)
	if f == nil {
		return
	}
	t.Errorf("seed %d: %v", s.Seed, f)
	if shortened.CompareAndSwap(false, true) {
		shorter, g := Shorten(s, f, Execute)
		t.Errorf("in short:\n%s\n%v", shorter, g)
	}
}

func envNumber(t *testing.T, variable string, fallback uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	assert.NilError(t, err, variable)
	return n
}
