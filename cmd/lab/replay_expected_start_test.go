package main

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Every ask that waits is asked about, and what becomes of the answers is counted.
func TestReplay_ExpectedStart(t *testing.T) {
	code, out, errs := replaySample("--mode", "durations", "--load", "3", "--expected-start", "1", "--output", "json")
	assert.Equal(t, code, 0, errs)
	var r replayReport
	assert.NilError(t, json.Unmarshal([]byte(out), &r))
	assert.Equal(t, r.Allocated, 80)
	s := r.ExpectedStart
	answers := 0
	for _, n := range s.Answers {
		answers += n
	}
	assert.Assert(t, s.Asked > 5 && s.Asked < 80, "%+v", s)
	assert.Equal(t, answers, s.Asked)
	assert.Assert(t, s.Answers["notEnoughHistory"] > 0 && s.Answers["expected"] > 0, "%+v", s)
	assert.Equal(t, s.Started, s.Answers["expected"], "each starts in the end")
	assert.Assert(t, s.WithinP10 <= s.WithinP50 && s.WithinP50 <= s.WithinP90 && s.WithinP90 <= s.Started, "%+v", s)
	assert.Assert(t, s.MedianWaitSeconds > 0 && s.ForecastMillis > 0, "%+v", s)

	code, out, _ = replaySample("--mode", "durations", "--load", "3", "--expected-start", "2")
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.Contains(out, " asks that waited were asked about: "), out)
	code, out, _ = replaySample("--mode", "durations", "--output", "json")
	assert.Equal(t, code, 0)
	assert.Assert(t, !strings.Contains(out, "expectedStart"), out)
}

func TestReplayCalibration_Lines(t *testing.T) {
	var none *replayCalibration
	assert.Equal(t, len(none.lines()), 0)
	assert.DeepEqual(t, (&replayCalibration{}).lines(), []string{"no ask was asked about"})
	r := &replayCalibration{
		Asked: 1200, Answers: map[string]int{"expected": 1000, "busy": 200}, Started: 1000, WithinP10: 110, WithinP50: 480,
		WithinP90:          893,
		MedianErrorSeconds: 90, MedianWaitSeconds: 660, ForecastMillis: 317.25,
	}
	assert.DeepEqual(t, r.lines(), []string{
		"1,200 asks that waited were asked about: 200 busy, 1,000 expected",
		"of 1,000 that started: 11 % by the 10 % time, 48 % by the 50 % time, 89 % by the 90 % time; median wait 11 min, " +
			"median error 90 s",
		"a forecast took 317.2 ms",
	})
}
