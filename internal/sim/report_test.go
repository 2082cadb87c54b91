package sim

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestLatencyIsTheNearestRank(t *testing.T) {
	assert.Equal(t, latency(nil), Latency{})
	assert.Equal(t, latency([]time.Duration{2500 * time.Microsecond}), Latency{2.5, 2.5, 2.5})
	var delays []time.Duration
	for i := 200; i > 0; i-- {
		delays = append(delays, time.Duration(i)*time.Millisecond)
	}
	assert.Equal(t, latency(delays), Latency{P50: 100, P95: 190, P99: 198})
	assert.Equal(t, delays[0], 200*time.Millisecond, "what was measured stays as it was")
}

func TestTheClockDoesNotGoBack(t *testing.T) {
	c := NewClock()
	c.Set(at(10))
	c.Set(at(5))
	assert.Equal(t, c.Now(), at(10))
	assert.Equal(t, at(longest).Before(time.Now()), true, "no trace reaches the present")
}
