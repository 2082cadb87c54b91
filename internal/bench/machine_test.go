package bench

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestMachine_WarnsOfStolenTime(t *testing.T) {
	then := processorTimesOf("cpu  100 20 30 800 5 0 5 40 7 0\ncpu0 1 2 3\n")
	assert.Equal(t, then, processorTimes{all: 1000, stolen: 40})
	now := processorTimesOf("cpu  200 20 30 1690 5 0 5 50 7 0\n")
	assert.Equal(t, now.stolenSince(then), 0.01)
	r := &Report{Stolen: now.stolenSince(then)}
	assert.Assert(t, strings.Contains(r.runInfo(), "took 1.0 % of its processors"), r.runInfo())
	r.Stolen = 0.004
	assert.Assert(t, !strings.Contains(r.runInfo(), "host"), r.runInfo())
}

func TestMachine_StolenTimeMayBeUnknown(t *testing.T) {
	for _, text := range []string{"", "cpu", "cpu 1 2 3 4", "cpu a b c d e f g h i", "intr 1 2 3 4 5 6 7 8 9 10"} {
		assert.Equal(t, processorTimesOf(text), processorTimes{}, text)
	}
	known := processorTimes{all: 10, stolen: 1}
	assert.Equal(t, known.stolenSince(processorTimes{}), 0.0)
	assert.Equal(t, processorTimes{}.stolenSince(known), 0.0)
}
