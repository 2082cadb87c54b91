package backfill

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Figures of one trace: names as those of report.Metrics.
const (
	IdleReserved = "idleReserved"
	Wasted       = "wasted"
	GangWaitP50  = "gangWaitP50"
	GangWaitP95  = "gangWaitP95"
	OtherWait    = "otherWait"
	Utilisation  = "meanUtilisation"
)

// outcome holds what became of a trace.
type outcome struct {
	starts []time.Duration // of each job, in the run that has reached its end

	// only of the Core
	idle   float64 // GPU-hours that were free and held by reservations
	wasted float64 // GPU-hours of runs that the Core has ended
}

// Play plays a trace until every job has ended, and returns the figures. Waits are those of all jobs.
func Play(s Spec, t Trace) (map[string]float64, error) {
	var o outcome
	var err error
	switch s.Mode {
	case Off, Bounded:
		o, err = playCore(s, t)
	case EASY:
		o.starts = playPool(t.Jobs, newEASY(s.GPUs, t.Jobs))
	case Conservative:
		o.starts = playPool(t.Jobs, newConservative(s.GPUs, t.Jobs))
	default:
		err = fmt.Errorf("there is no mode %q", s.Mode)
	}
	if err != nil {
		return nil, err
	}
	figures := o.waits(s, t)
	if s.Mode == Off || s.Mode == Bounded {
		figures[IdleReserved], figures[Wasted] = o.idle, o.wasted
	}
	return figures, nil
}

func (o *outcome) waits(s Spec, t Trace) map[string]float64 {
	var gangs []float64
	var others, used float64
	for i := range t.Jobs {
		j, start := &t.Jobs[i], o.starts[i]
		used += j.within(t.Window, start, start+j.Duration)
		if wait := (start - j.Arrival).Hours(); s.isLarge(j) {
			gangs = append(gangs, wait)
		} else {
			others += wait
		}
	}
	slices.Sort(gangs)
	return map[string]float64{
		GangWaitP50: percentile(gangs, 0.50),
		GangWaitP95: percentile(gangs, 0.95),
		OtherWait:   others / float64(max(len(t.Jobs)-len(gangs), 1)),
		Utilisation: used / (float64(s.GPUs) * t.Window.Hours()),
	}
}

// percentile returns the least of sorted values that this share of them does not exceed; 0: there is no value.
func percentile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

// Compare enters ratios to the figures with Off of the same trace, or to the means over the same traces. One whose
// divisor is zero is left out.
func Compare(figures, off map[string]float64) {
	ratio := func(name string, x, by float64) {
		if by > 0 {
			figures[name] = x / by
		}
	}
	if idle, ok := figures[IdleReserved]; ok {
		ratio(IdleReserved+"Ratio", idle+figures[Wasted], off[IdleReserved])
	}
	ratio(GangWaitP50+"Ratio", figures[GangWaitP50], off[GangWaitP50])
	ratio(GangWaitP95+"Ratio", figures[GangWaitP95], off[GangWaitP95])
}
