package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// replayForecasts asks for the expected start of asks of a replay, and sees when they start. Methods of a nil one do
// nothing.
type replayForecasts struct {
	every      int // each so many of the asks that wait
	forecaster *forecast.Forecaster
	clock      *sim.Clock
	partition  configs.Partition
	lifetimes  lifecycle.Lifetimes
	server     *sim.Server

	took time.Duration // in all
	made int

	mu    sync.Mutex // guards the following
	asked map[objects.AllocationKey]time.Time
	codes map[string]int
	waits []time.Duration // of asks with an expected start that have started
}

// replayCalibration says how right the expected starts of a replay were. Its JSON form is stable: other programs read
// it.
type replayCalibration struct {
	Asked              int            `json:"asked"`   // asks that waited and were asked about
	Answers            map[string]int `json:"answers"` // by code: expected, or why there was none
	Started            int            `json:"started"` // asks with an expected start that have started
	WithinP10          int            `json:"withinP10"`
	WithinP50          int            `json:"withinP50"`
	WithinP90          int            `json:"withinP90"`
	MedianErrorSeconds float64        `json:"medianErrorSeconds"` // how far the starts were from the medians
	MedianWaitSeconds  float64        `json:"medianWaitSeconds"`  // from the answer to the start
	ForecastMillis     float64        `json:"forecastMillis"`     // what a forecast took on average
}

// newReplayForecasts returns nil if no ask is to be asked about.
func newReplayForecasts(every int, clock *sim.Clock, partition configs.Partition) *replayForecasts {
	if every == 0 {
		return nil
	}
	return &replayForecasts{
		every: every, clock: clock, forecaster: forecast.NewForecaster("", clock.Now), partition: partition,
		lifetimes: simLifetimes(), asked: map[objects.AllocationKey]time.Time{}, codes: map[string]int{},
	}
}

func (f *replayForecasts) onEffects() func(partition string, effects []scheduler.Effect) {
	if f == nil {
		return nil
	}
	return func(partition string, effects []scheduler.Effect) {
		f.forecaster.OnEffects(partition, effects)
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range effects {
			if a, is := e.(scheduler.Allocated); is {
				if at, asked := f.asked[a.Ask.Key]; asked {
					f.waits = append(f.waits, f.clock.Now().Sub(at))
					delete(f.asked, a.Ask.Key)
				}
			}
		}
	}
}

// askWaits makes a forecast for the n-th ask that waits, if its turn has come.
func (f *replayForecasts) askWaits(ctx context.Context, key objects.AllocationKey, n int) error {
	if n%f.every != 0 {
		return nil
	}
	from := time.Now()
	answers, err := f.forecaster.Starts(ctx, sim.Partition, []objects.AllocationKey{key},
		func(ctx context.Context) (forecast.State, error) {
			snap, err := f.server.Snapshot(ctx)
			return forecast.State{Snapshot: snap, Config: f.partition, Lifetimes: f.lifetimes}, err
		})
	if err != nil {
		return err
	}
	f.took, f.made = f.took+time.Since(from), f.made+1
	a := answers[key]
	f.mu.Lock()
	defer f.mu.Unlock()
	f.codes[a.Code.String()]++
	if a.Known() {
		f.asked[key] = a.At
	}
	return nil
}

func (f *replayForecasts) report() *replayCalibration {
	if f == nil {
		return nil
	}
	c := f.forecaster.Calibration(sim.Partition)
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &replayCalibration{
		Asked: f.made, Answers: maps.Clone(f.codes), Started: c.Started, WithinP10: c.WithinP10, WithinP50: c.WithinP50,
		WithinP90:          c.WithinP90,
		MedianErrorSeconds: c.MedianError.Seconds(),
	}
	if len(f.waits) > 0 {
		r.MedianWaitSeconds = slices.Sorted(slices.Values(f.waits))[len(f.waits)/2].Seconds()
	}
	if f.made > 0 {
		r.ForecastMillis = float64(f.took.Microseconds()/int64(f.made)) / 1000
	}
	return r
}

// lines are the calibration as text.
func (r *replayCalibration) lines() []string {
	if r == nil {
		return nil
	}
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(r.Answers)) {
		codes = append(codes, fmt.Sprintf("%s %s", cmdline.WithThousands(r.Answers[code]), code))
	}
	lines := []string{
		fmt.Sprintf("%s that waited were asked about: %s", cmdline.Counted(cmdline.WithThousands(r.Asked), "asks"),
			strings.Join(codes, ", ")),
	}
	if r.Asked == 0 {
		return []string{"no ask was asked about"}
	}
	if r.Started > 0 {
		lines = append(lines,
			fmt.Sprintf("of %s that started: %s by the 10 %% time, %s by the 50 %% time, %s by the 90 %% time; median wait "+
				"%s, median error %s",
				cmdline.WithThousands(r.Started), cmdline.Percent(r.WithinP10, r.Started), cmdline.Percent(r.WithinP50, r.Started),
				cmdline.Percent(r.WithinP90, r.Started),
				forecast.Text(cmdline.Seconds(r.MedianWaitSeconds)), forecast.Text(cmdline.Seconds(r.MedianErrorSeconds))))
	}
	return append(lines, fmt.Sprintf("a forecast took %s ms", cmdline.Millis(r.ForecastMillis)))
}
