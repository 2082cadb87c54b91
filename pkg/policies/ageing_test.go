package policies

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestAgeing_TextIsReadAgain(t *testing.T) {
	for text, want := range map[string]Ageing{
		"10 per 10m up to 100":           {10 * time.Minute, 10, 100},
		" 1 PER 1s  up to 2147483647":    {time.Second, 1, math.MaxInt32},
		"5 per 87600h up to 5":           {MaxAgeingStep, 5, 5},
		"off":                            {},
		"Off":                            {},
		"3 per 1h30m up to 2000000000\t": {90 * time.Minute, 3, 2_000_000_000},
	} {
		got, ok := ParseAgeing(text)
		assert.Assert(t, ok, text)
		assert.Equal(t, got, want)
		again, ok := ParseAgeing(got.String())
		assert.Assert(t, ok && again == want, got.String())
	}
	for _, text := range []string{"", "on", "0", "10", "10 per 10m", "10 per 10m up to", "0 per 10m up to 100",
		"-1 per 10m up to 100", "10 per 10m up to 9", "10 per 999ms up to 100", "10 per 0s up to 100",
		"10 per 87601h up to 100", "10 per 10 up to 100", "2147483648 per 1s up to 2147483648", "1 per 1s up to 2147483648",
		"1.5 per 1s up to 3", "10 per 10m up to 100 off", "10 per 10m, up to 100"} {
		_, ok := ParseAgeing(text)
		assert.Assert(t, !ok, text)
	}
}

// The priority rises in whole steps, never beyond the most, and next when After says so.
func TestAgeing_RisesInWholeSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.Int32Range(1, math.MaxInt32).Draw(t, "by")
		a := Ageing{time.Duration(rapid.Int64Range(int64(MinAgeingStep), int64(MaxAgeingStep)).Draw(t, "every")), by,
			rapid.Int32Range(by, math.MaxInt32).Draw(t, "up to")}
		wait := time.Duration(rapid.Int64Range(-1, math.MaxInt64).Draw(t, "wait"))
		raised, next := a.After(wait)
		assert.Assert(t, raised >= 0 && raised <= a.UpTo)
		steps := int64(max(wait, 0) / a.Every)
		assert.Equal(t, int64(raised), min(steps*int64(a.By), int64(a.UpTo)))
		if next == 0 {
			assert.Assert(t, raised == a.UpTo || wait > math.MaxInt64-a.Every, "it never rises, and has risen by %d", raised)
			return
		}
		assert.Assert(t, next > wait && next-wait <= a.Every || wait < 0)
		before, _ := a.After(next - 1)
		after, _ := a.After(next)
		assert.Assert(t, before == raised && after > raised)
	})
}

func TestCurrentPriority_Raised(t *testing.T) {
	assert.Equal(t, Pending(5).Raised(7), Pending(12))
	assert.Equal(t, Pending(math.MaxInt32-3).Raised(7), Pending(math.MaxInt32))
	assert.Equal(t, Pending(math.MinInt32).Raised(math.MaxInt32), Pending(-1))
	assert.Equal(t, CurrentPriority{}.Raised(7), CurrentPriority{})
}
