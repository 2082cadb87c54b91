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
		{quick, false, 500, 50}, {quick, true, 500, 50}, {quick, false, 5, 1},
		{full, false, 500, 500}, {full, true, 500, 100}, {full, true, 3, 1},
		{nightly, false, 500, 5000}, {nightly, true, 500, 1000},
	} {
		assert.Equal(t, runs(tc.scale, tc.race, tc.n), tc.want, "%+v", tc)
	}
}

func TestScale_ComesFromTheEnvironment(t *testing.T) {
	t.Setenv(variable, "")
	assert.Assert(t, !Full(), "without a word it is quick")
	t.Setenv(variable, quick)
	assert.Assert(t, !Full())
	for _, s := range []string{full, nightly} {
		t.Setenv(variable, s)
		assert.Assert(t, Full())
	}
	t.Setenv(variable, "fast")
	defer func() {
		assert.Equal(t, recover(), `CANOPY_TESTS is quick, full or nightly, not "fast"`)
	}()
	Runs(1)
}
