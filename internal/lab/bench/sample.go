package bench

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// paceKind says whether the scheduler determined the speed.
type paceKind bool

const (
	unpaced paceKind = true
	paced   paceKind = false
)

// enterUsage puts the figures into a sample. There must be decisions.
func enterUsage(s *measure.Usage, to report.Sample, p paceKind) {
	n := float64(s.Decisions)
	to["cpuPerDecision"] = measure.Micros(s.CPU) / n
	to["heapAllocsPerDecision"] = float64(s.Objects) / n
	to["heapBytesPerDecision"] = float64(s.Bytes) / n
	to["gcShare"] = s.GCShare()
	if p == unpaced {
		to["wallPerDecision"] = measure.Micros(s.Wall) / n
		to["decisionsPerSecond"] = n / s.Wall.Seconds()
	}
}

// The families of individually measured times, by the prefix of their metrics.
const (
	decisionTimes       = "decision"
	askTimes            = "askToAllocation"
	releaseTimes        = "releaseToNext"
	pauseTimes          = "pause"
	gangTimes           = "gang"
	victimTimes         = "askToVictims"
	releasedTimes       = "victimReleaseToAllocation"
	withoutReadersTimes = "askWithoutReaders"
	withReadersTimes    = "askWithReaders"
	answerTimes         = "answer"
)

// percentiles are the metrics of a family, with the minimum number of values: ten beyond the
// percentile.
var percentiles = []struct {
	suffix  string
	percent float64
	least   int64
}{{"P50", 50, 10}, {"P99", 99, 100}, {"P999", 99.9, 10_000}}

// enterPercentiles puts the percentiles of a family into a sample, if the family has them and there are enough
// values.
func enterPercentiles(t measure.Histogram, family string, to report.Sample) {
	for _, p := range percentiles {
		if name := family + p.suffix; report.IsMetric(name) && t.Count() >= p.least {
			to[name] = measure.Micros(t.Percentile(p.percent))
		}
	}
}

// idleWindow is the time for which an idle scheduler is measured.
const idleWindow = time.Second
