package testscale

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestRuns_ByScale(t *testing.T) {
	for _, tc := range []struct {
		scale   string
		race    bool
		n, want int
	}{
		{scaleQuick, false, 500, 50}, {scaleQuick, true, 500, 50}, {scaleQuick, false, 5, 1},
		{scaleFull, false, 500, 500}, {scaleFull, true, 500, 100}, {scaleFull, true, 3, 1},
		{scaleNightly, false, 500, 1500}, {scaleNightly, true, 500, 300},
	} {
		assert.Equal(t, runs(tc.scale, tc.race, tc.n), tc.want, "%+v", tc)
	}
}

func TestScale_ComesFromTheEnvironment(t *testing.T) {
	t.Setenv(variable, "")
	assert.Assert(t, !Full(), "quick is the default")
	t.Setenv(variable, scaleQuick)
	assert.Assert(t, !Full())
	for _, s := range []string{scaleFull, scaleNightly} {
		t.Setenv(variable, s)
		assert.Assert(t, Full())
	}
	t.Setenv(variable, "fast")
	defer func() {
		assert.Equal(t, recover(), `CANOPY_TESTS is quick, full or nightly, not "fast"`)
	}()
	Runs(1)
}
