package priorities_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

func TestGracePeriodOf_DefaultsToThirtySeconds_S3_52(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, "600": 10 * time.Minute, "": 30 * time.Second, "-1": 30 * time.Second,
		"1.5":  30 * time.Second,
		"soon": 30 * time.Second, "99999999999999999999": 30 * time.Second, "2147483647": 2147483647 * time.Second,
		"2147483648": 30 * time.Second,
	} {
		assert.Equal(t, priorities.GracePeriodOf(map[string]string{priorities.GracePeriodTag: text}), want, text)
	}
	assert.Equal(t, priorities.GracePeriodOf(nil), 30*time.Second)
}
