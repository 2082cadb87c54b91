package main

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// printExpectedStart prints what the expected start is based on, and how right earlier answers were.
func printExpectedStart(t preemptText, s *dao.ExpectedStart) {
	if s == nil || s.Runs == 0 {
		return
	}
	t.line("\nexpected start, from %s of a copy of the scheduler:", plural(s.Runs, "run"))
	for _, g := range s.BasedOn {
		of := "queue " + g.QueueName
		if g.Tag != "" {
			of += fmt.Sprintf(", applications with %s=%s", g.Tag, g.Value)
		}
		t.line("  %s of %s: median %s", plural(g.Durations, "duration"), of, forecast.Text(durationOf(g.MedianSeconds)))
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
		plural(c.Started, "ask"), share(c.WithinP10, c.Started), share(c.WithinP50, c.Started), share(c.WithinP90, c.Started),
		forecast.Text(durationOf(c.MedianErrorSeconds)))
}

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// share is a part of a number as a percentage.
func share(part, of int) string { return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(of)) }
