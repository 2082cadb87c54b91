package forecast

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestAnswer_InOneSentence(t *testing.T) {
	m := time.Minute
	for want, a := range map[string]Answer{
		"expected to start in 3 to 12 min (even odds: 5 min)":   {P10: 3 * m, P50: 5*m + 20*time.Second, P90: 12 * m},
		"expected to start in 40 s to 3 h (even odds: 100 min)": {P10: 40 * time.Second, P50: 100 * m, P90: 180 * m},
		"expected to start at once":                             {P90: 400 * time.Millisecond},
		"expected to start in 25 s": {
			P10: 25 * time.Second, P50: 25 * time.Second, P90: 25 * time.Second},
		"expected to start in 0 s or later (even odds: 4 d)": {P50: 4 * 24 * time.Hour, P90: Missing},

		"no expected start: it started within 30 d in 3 of 20 runs":         {Code: BeyondHorizon, Runs: 20, Started: 3},
		"no expected start: the partition cannot be copied: queue a is odd": {Code: NotReplicated, Detail: "queue a is odd"},
		"no expected start: the ask is not pending any more":                {Code: NotPending},
		"no expected start: other forecasts are being made, ask again":      {Code: Busy},
		"no expected start: gangs are not forecast":                         {Code: MemberOfGang},
		"no expected start: the partition is too large for a forecast":      {Code: TooLarge},

		"no expected start: too few allocations have ended to know how long they run": {Code: NotEnoughHistory},
		"not expected to start as things are: it did not start in any run, " +
			"not even when everything else had ended": {Code: NeverAsThingsAre},
	} {
		assert.Equal(t, a.String(), want)
	}
	assert.Equal(t, len(Assumptions()), 4)
	assert.Equal(t, MemberOfGang.String(), "memberOfGang")
}
