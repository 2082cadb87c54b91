package main

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// printExpectedStart prints what the expected start is based on, and how right earlier answers were.
func printExpectedStart(t preemptText, s *dao.ExpectedStart) {
	if s == nil || s.Runs == 0 {
		return
	}
	t.line("\nexpected start, from %s of a copy of the scheduler:", cmdline.Plural(s.Runs, "run"))
	for _, g := range s.BasedOn {
		of := "queue " + g.QueueName
		if g.Tag != "" {
			of += fmt.Sprintf(", applications with %s=%s", g.Tag, g.Value)
		}
		t.line("  %s of %s: median %s", cmdline.Plural(g.Durations, "duration"), of,
			forecast.Text(cmdline.Seconds(g.MedianSeconds)))
	}
	for _, a := range s.Assumptions {
		t.line("  assumed: %s", a)
	}
	if s.Corrected {
		t.line("  corrected by how right earlier answers were")
	}
	c := &s.Calibration
	if c.Started == 0 {
		t.line("  so far no ask with an expected start has started")
		return
	}
	t.line("  of %s that started after an answer: %s by its 10 %% time, %s by its 50 %% time, %s by its 90 %% time; "+
		"median error %s",
		cmdline.Plural(c.Started, "ask"), cmdline.Percent(c.WithinP10, c.Started), cmdline.Percent(c.WithinP50, c.Started),
		cmdline.Percent(c.WithinP90, c.Started), forecast.Text(cmdline.Seconds(c.MedianErrorSeconds)))
}
