package priorities_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

func TestS3_52GraceIsThirtySecondsUnlessGiven(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, "600": 10 * time.Minute, "": 30 * time.Second, "-1": 30 * time.Second, "1.5": 30 * time.Second,
		"soon": 30 * time.Second, "99999999999999999999": 30 * time.Second, "2147483647": 2147483647 * time.Second, "2147483648": 30 * time.Second,
	} {
		assert.Equal(t, priorities.GraceOf(map[string]string{priorities.GraceTag: text}), want, text)
	}
	assert.Equal(t, priorities.GraceOf(nil), 30*time.Second)
}
