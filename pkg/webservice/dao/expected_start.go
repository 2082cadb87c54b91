package dao

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
)

// ExpectedStart says when a pending ask is expected to start (EXP-9), or why that is not known (EXP-13).
type ExpectedStart struct {
	Code    string `json:"code"`    // expected, or why there are no quantiles: see docs/EXPLAIN.md
	Message string `json:"message"` // the answer in one sentence
	Time    int64  `json:"time"`    // when it was made
	// seconds from time on within which it starts with a probability of 10 %
	P10     *float64 `json:"p10,omitempty"`
	P50     *float64 `json:"p50,omitempty"` // of 50 %
	P90     *float64 `json:"p90,omitempty"` // of 90 %; missing: beyond the horizon of 30 days
	Runs    int      `json:"runs"`
	Started int      `json:"started"` // runs in which it started
	// the quantiles are corrected by how right earlier ones were (EXP-17)
	Corrected   bool             `json:"corrected"`
	BasedOn     []DurationGroup  `json:"basedOn,omitempty"`     // the groups that most durations are from
	Assumptions []string         `json:"assumptions,omitempty"` // in words
	Calibration StartCalibration `json:"calibration"`           // how right earlier answers of the partition were
}

// DurationGroup is a group of allocations of which durations are known (EXP-11).
type DurationGroup struct {
	QueueName     string  `json:"queueName"`     // with the queues below it
	Tag           string  `json:"tag,omitempty"` // only applications with this tag and value; missing: all
	Value         string  `json:"value,omitempty"`
	Durations     int     `json:"durations"`     // how many are known, at most 256
	MedianSeconds float64 `json:"medianSeconds"` // of these, with what still runs
}

// StartCalibration counts the asks that had an expected start (EXP-15).
type StartCalibration struct {
	Started            int     `json:"started"`
	WithinP10          int     `json:"withinP10"`          // of started; a tenth is right
	WithinP50          int     `json:"withinP50"`          // half is right
	WithinP90          int     `json:"withinP90"`          // nine tenths are right
	MedianErrorSeconds float64 `json:"medianErrorSeconds"` // of the last 1,000: half of them were off by less
	Open               int     `json:"open"`               // asks that still wait
	Withdrawn          int     `json:"withdrawn"`          // asks that ended without a start
	Forgotten          int     `json:"forgotten"`          // asks of which the answer was forgotten
}

// NewExpectedStart is the view of an answer. tag is the tag by which durations are learnt; empty: none.
func NewExpectedStart(a *forecast.Answer, tag string, c forecast.Calibration) *ExpectedStart {
	v := &ExpectedStart{
		Code: a.Code.String(), Message: a.String(), Time: Nanos(a.At), P10: secondsOf(a.P10), P50: secondsOf(a.P50),
		P90: secondsOf(a.P90), Runs: a.Runs, Started: a.Started, Corrected: a.Corrected,
		Calibration: StartCalibration{c.Started, c.WithinP10, c.WithinP50, c.WithinP90, c.MedianError.Seconds(), c.Open,
			c.Withdrawn, c.Forgotten},
	}
	if a.Runs > 0 {
		v.Assumptions = forecast.Assumptions()
	}
	for _, b := range a.Basis {
		g := DurationGroup{QueueName: string(b.Queue), Value: b.Value, Durations: b.Ended, MedianSeconds: b.Median.Seconds()}
		if b.Value != "" {
			g.Tag = tag
		}
		v.BasedOn = append(v.BasedOn, g)
	}
	return v
}

func secondsOf(d time.Duration) *float64 {
	if d == forecast.Missing {
		return nil
	}
	s := d.Seconds()
	return &s
}
