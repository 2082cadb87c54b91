package objects

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A report is kept in one number.
func TestWaitingReport_IsReadAsItWasSet(t *testing.T) {
	at := time.Date(2026, 11, 26, 15, 0, 0, 2560, time.UTC)
	for _, report := range []WaitingReport{
		{},
		{State: WaitSkipped, At: at},
		{State: WaitSkipped, Blocked: 1, At: at},
		{State: WaitSkipped, Blocked: 31, At: at},
		{State: WaitFailed, At: at},
		{State: WaitFailed, At: time.Unix(0, 0).UTC()},
		{State: WaitSkipped, Blocked: 31, At: time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)},
		{State: WaitSkipped, Blocked: 31, At: time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		x := &Allocation{}
		x.SetWaitingReport(report)
		assert.DeepEqual(t, x.WaitingReport(), report)
		assert.Equal(t, x.WaitingState(), report.State)
	}
}

// The time of a report is known down to 256 ns.
func TestWaitingReport_TimeIsRoundedDown(t *testing.T) {
	x := &Allocation{}
	x.SetWaitingReport(WaitingReport{State: WaitFailed, At: time.Unix(5, 511)})
	assert.Equal(t, x.WaitingReport().At, time.Unix(5, 256).UTC())
}
