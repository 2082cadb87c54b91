package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

func TestPrintExplanation_ExpectedStart(t *testing.T) {
	printed := func(s *dao.ExpectedStart) string {
		var out strings.Builder
		assert.NilError(t,
			printExplanation(&out,
				&explanation{Explanation: scheduler.Explanation{App: "a", State: scheduler.KeyPending, Message: "no node fits"},
					ExpectedStart: s}))
		_, text, _ := strings.Cut(trimLines(out.String()), "no node fits\n")
		return text
	}
	assert.Equal(t, printed(nil), "")
	assert.Equal(t, printed(&dao.ExpectedStart{Message: "no expected start: gangs are not forecast"}),
		"no expected start: gangs are not forecast\n")
	s := &dao.ExpectedStart{
		Message: "expected to start in 3 to 12 min (even odds: 5 min)", Runs: 20, Started: 20,
		Assumptions: []string{"no new asks come"},
		BasedOn: []dao.DurationGroup{{QueueName: "root.a", Tag: "team", Value: "red", Durations: 40, MedianSeconds: 90},
			{QueueName: "root", Durations: 256, MedianSeconds: 300}},
	}
	assert.Equal(t, printed(s), `expected to start in 3 to 12 min (even odds: 5 min)

expected start, from 20 runs of a copy of the scheduler:
  40 durations of queue root.a, applications with team=red: median 90 s
  256 durations of queue root: median 5 min
  assumed: no new asks come
  so far no ask with an expected start has started
`)
	s.Corrected = true
	s.Calibration = dao.StartCalibration{Started: 200, WithinP10: 25, WithinP50: 110, WithinP90: 178,
		MedianErrorSeconds: 47}
	assert.Assert(t, strings.HasSuffix(printed(s),
		"  assumed: no new asks come\n  corrected by how right earlier answers were\n  of 200 asks that started after an "+
			"answer: 12 % by its 10 % time, 55 % by its 50 % time, 89 % by its 90 % time; median error 47 s\n"), printed(s))
}
