package measure

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestMachine_StolenTime(t *testing.T) {
	then := parseProcessorTimes("cpu  100 20 30 800 5 0 5 40 7 0\ncpu0 1 2 3\n")
	assert.Equal(t, then, ProcessorTimes{all: 1000, stolen: 40})
	now := parseProcessorTimes("cpu  200 20 30 1690 5 0 5 50 7 0\n")
	assert.Equal(t, now.StolenSince(then), 0.01)
}

func TestMachine_StolenTimeMayBeUnknown(t *testing.T) {
	for _, text := range []string{"", "cpu", "cpu 1 2 3 4", "cpu a b c d e f g h i", "intr 1 2 3 4 5 6 7 8 9 10"} {
		assert.Equal(t, parseProcessorTimes(text), ProcessorTimes{}, text)
	}
	known := ProcessorTimes{all: 10, stolen: 1}
	assert.Equal(t, known.StolenSince(ProcessorTimes{}), 0.0)
	assert.Equal(t, ProcessorTimes{}.StolenSince(known), 0.0)
}
