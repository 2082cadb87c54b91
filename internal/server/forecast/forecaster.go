package forecast

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Bounds of what readers cost (EXP-14).
const (
	SharedFor = 10 * time.Second // an answer is given again for this time

	maxWait    = 2 * time.Second  // for a forecast of another reader
	maxTime    = 20 * time.Second // of a forecast
	maxAnswers = 1_000            // that are shared
)

// Forecaster learns durations, makes forecasts for readers, and keeps the calibration. It is safe for concurrent use.
type Forecaster struct {
	Learnt *durations.Store

	now  func() time.Time
	busy chan struct{} // one element while a forecast is made

	mu           sync.Mutex // guards the following
	calibrations map[string]*calibration
	answers      map[answerKey]Answer // that are shared
}

type answerKey struct {
	partition string
	key       objects.AllocationKey
}

// NewForecaster returns a Forecaster that knows nothing. tag is the tag of applications by which durations are learnt;
// empty: by queue only. now is the clock of the partitions; nil: time.Now.
func NewForecaster(tag string, now func() time.Time) *Forecaster {
	if now == nil {
		now = time.Now
	}
	return &Forecaster{
		Learnt: durations.New(tag, now), now: now, busy: make(chan struct{}, 1),
		calibrations: map[string]*calibration{}, answers: map[answerKey]Answer{},
	}
}

// OnEffects learns from effects of a partition, in order.
func (f *Forecaster) OnEffects(partition string, effects []scheduler.Effect) {
	f.Learnt.OnEffects(partition, effects)
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.calibrations[partition]; c != nil {
		c.onEffects(effects, f.now())
	}
}

// Calibration returns how right the answers of a partition were.
func (f *Forecaster) Calibration(partition string) Calibration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.calibrations[partition]; c != nil {
		return c.read()
	}
	return Calibration{}
}

// Starts returns the answers for asks of a partition, as many as keys. state returns the partition as it is; it is not
// called if all answers are known already. The error is that of state, or of ctx.
func (f *Forecaster) Starts(
	ctx context.Context, partition string, keys []objects.AllocationKey, state func(context.Context) (State, error),
) (map[objects.AllocationKey]Answer, error) {
	answers, missing := f.shared(partition, keys)
	if len(missing) == 0 {
		return answers, nil
	}
	if !f.lock(ctx) {
		for _, key := range missing {
			answers[key] = failed(Busy, "", f.now())
		}
		return answers, ctx.Err()
	}
	defer func() { <-f.busy }()
	answers, missing = f.shared(partition, keys) // another reader may have asked for the same
	if len(missing) == 0 {
		return answers, nil
	}
	st, err := state(ctx)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	made, err := Make(bounded, st, f.Learnt, missing)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		made, err = map[objects.AllocationKey]Answer{}, nil
		for _, key := range missing {
			made[key] = failed(TooLarge, "", st.Snapshot.At)
		}
	}
	if err != nil {
		return nil, err
	}
	f.give(partition, made, answers)
	return answers, nil
}

// lock waits until no other forecast is made; false: it waits no longer.
func (f *Forecaster) lock(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case f.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// shared returns the answers that are still shared, and the keys of the others.
func (f *Forecaster) shared(partition string, keys []objects.AllocationKey) (answers map[objects.AllocationKey]Answer,
	missing []objects.AllocationKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest := f.now().Add(-SharedFor)
	answers = map[objects.AllocationKey]Answer{}
	for _, key := range keys {
		if a, there := f.answers[answerKey{partition, key}]; there && !a.At.Before(oldest) {
			answers[key] = a
		} else if !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	return answers, missing
}

// give corrects answers and adds them to those that are given. They are shared, and remembered for the calibration.
func (f *Forecaster) give(partition string, made, to map[objects.AllocationKey]Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calibrations[partition]
	if c == nil {
		c = newCalibration()
		f.calibrations[partition] = c
	}
	if len(f.answers)+len(made) > maxAnswers {
		clear(f.answers)
	}
	for _, key := range slices.Sorted(maps.Keys(made)) {
		a := c.give(key, made[key])
		to[key], f.answers[answerKey{partition, key}] = a, a
	}
}
