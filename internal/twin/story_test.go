package twin

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
)

// beats is how long a story is.
const beats = 300

// TestStories tells random stories to the Core and to its twin. The environment
// variables CANOPY_SIM_SEED and CANOPY_SIM_STORIES say with which it begins and how
// many they are; make sim sets them. Without it package testscale says how many.
func TestStories(t *testing.T) {
	first := number(t, "CANOPY_SIM_SEED", 1)
	stories := int(number(t, "CANOPY_SIM_STORIES", uint64(testscale.Runs(500))))
	var shortened atomic.Bool
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprintf("every eighth from seed %d", first+uint64(shard)), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < stories && !t.Failed(); i += shards {
				tell(t, Random(first+uint64(i), beats), &shortened)
			}
		})
	}
}

// tell plays a story. Of all that fail, one is printed in the shortest version that
// can be found.
func tell(t *testing.T, s Story, shortened *atomic.Bool) {
	f := s.Play()
	if f == nil {
		return
	}
	t.Errorf("seed %d: %v", s.Seed, f)
	if shortened.CompareAndSwap(false, true) {
		shorter, g := s.Shorten(f, Story.Play)
		t.Errorf("in short:\n%s\n%v", shorter, g)
	}
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	assert.NilError(t, err, variable)
	return n
}
