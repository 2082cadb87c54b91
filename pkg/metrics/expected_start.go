package metrics

import (
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
)

// SetForecastSource sets what has the calibration of the expected starts of a partition. It must be called before the
// first scrape.
func (m *Metrics) SetForecastSource(of func(partition string) forecast.Calibration) { m.forecasts = of }

var (
	expectedStarts = counter("canopy_expected_starts_total",
		"Asks that had an expected start, by when they started, or withdrawn.", "partition", "outcome")
	expectedStartError = gauge("canopy_expected_start_median_error_seconds",
		"Median of how far the start of an ask was from its expected median, of the last 1,000; 0: none has started.",
		"partition")
)

// expectedStartOutcomes are the outcomes: a tenth, four tenths, four tenths and a tenth of what has started are right.
var expectedStartOutcomes = [...]string{"by_p10", "by_p50", "by_p90", "after_p90", "withdrawn"}

// writeExpectedStarts writes the calibration of a partition (EXP-15).
func (s *scrape) writeExpectedStarts(to partitionWriter, partition string) {
	if s.m.forecasts == nil {
		return
	}
	c := s.m.forecasts(partition)
	for i, n := range [...]int{c.WithinP10, c.WithinP50 - c.WithinP10, c.WithinP90 - c.WithinP50, c.Started - c.WithinP90,
		c.Withdrawn} {
		to.count(expectedStarts, n, expectedStartOutcomes[i])
	}
	to.value(expectedStartError, c.MedianError.Seconds())
}
