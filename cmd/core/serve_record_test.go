package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestServe_InvalidRecordingFlags(t *testing.T) {
	code, _, errs := runCanopy("serve", "--record", t.TempDir(), "--record-max-size", "0", "--record-max-age", "-1s",
		"--record-segment-size", "0")
	assert.Equal(t, code, 2)
	assert.Equal(t, strings.Count(errs, "must be above 0"), 2, errs)
	assert.Assert(t, strings.Contains(errs, "--record-segment-size is 0, and must be from 1 to 268435456"), errs)
}
