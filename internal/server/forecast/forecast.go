package forecast

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Bounds of a forecast.
const (
	// Runs is the number of runs that a forecast makes, and MinRuns the number that it needs: fewer are made of a large
	// partition.
	Runs    = 20
	MinRuns = 5

	maxWork  = 1_000_000 // objects that are copied, and steps, in all runs together
	maxBasis = 3         // groups that an answer names
)

// Code says what an answer is.
type Code uint8

// The codes.
const (
	Expected         Code = iota // the ask is expected to start
	NotEnoughHistory             // too few durations are known
	BeyondHorizon                // in at least half of the runs it did not start within Horizon
	NeverAsThingsAre             // it did not start in any run, although everything that runs has ended
	MemberOfGang                 // gangs are not forecast
	TooLarge                     // the partition has more objects than a forecast can copy
	NotReplicated                // the partition cannot be copied; Detail says why
	NotPending                   // the snapshot has no such pending ask
	Busy                         // other forecasts are being made
)

// String returns the stable code.
func (c Code) String() string {
	return [...]string{"expected", "notEnoughHistory", "beyondHorizon", "neverAsThingsAre", "memberOfGang", "tooLarge",
		"notReplicated", "notPending", "busy"}[c]
}

// Missing is a quantile that is beyond the horizon.
const Missing time.Duration = -1

// Answer says when an ask is expected to start. It is a value.
type Answer struct {
	Code   Code
	Detail string    // of NotReplicated and NotEnoughHistory; else empty
	At     time.Time // of the snapshot: the times below count from it

	// within which it starts with probabilities of 10, 50 and 90 %; Missing: beyond the horizon, or unknown
	P10, P50, P90 time.Duration
	Corrected     bool    // the times are corrected by how right earlier answers were (EXP-17)
	Runs, Started int     // how many runs were made, and in how many of them it started
	Basis         []Basis // what the durations are from, the group with the most allocations first
}

// Basis is a group of durations that a forecast used.
type Basis struct {
	durations.Key
	Ended  int           // how many durations of it are known
	Median time.Duration // of these, with what still runs
}

// Known reports whether the answer has an expected start.
func (a *Answer) Known() bool { return a.Code == Expected }

// Make makes the answers for pending asks of a partition (EXP-9, EXP-12). The error is that of ctx. It takes a slot of
// the readers.
func Make(ctx context.Context, st State, learnt *durations.Store,
	keys []objects.AllocationKey) (map[objects.AllocationKey]Answer, error) {
	slot := cpushare.Readers.Acquire(context.Background()) // r.play ends with ctx
	defer slot.Release()
	o := newOriginal(st, learnt.ValueOf, slot)
	answers := map[objects.AllocationKey]Answer{}
	targets := o.targets(keys, answers)
	runs := min(Runs, maxWork/max(1, o.size()))
	if runs < MinRuns {
		return o.fail(answers, targets, TooLarge, ""), nil
	}
	d := newDraws(o, learnt.Estimator(st.Snapshot.Partition, o.at, o.running()))
	var made []*run
	work := 0
	for i := range runs {
		if len(targets) == 0 || len(made) >= MinRuns && work > maxWork {
			break
		}
		r, err := newRun(i, d, targets, slot)
		if broken := (*replicaError)(nil); errors.As(err, &broken) {
			return o.fail(answers, targets, NotReplicated, broken.reason), nil
		}
		r.play(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.core, r.ends = nil, nil
		made, work = append(made, r), work+o.size()+r.steps
	}
	for _, key := range targets {
		answers[key] = d.answer(key, made)
	}
	return answers, nil
}

// targets returns the keys of asks that can be forecast. answers gets those of the others.
func (o *original) targets(keys []objects.AllocationKey,
	answers map[objects.AllocationKey]Answer) (targets []objects.AllocationKey) {
	pending := map[objects.AllocationKey]item{}
	for _, x := range o.asks {
		if slices.Contains(keys, x.Ask.Key) {
			pending[x.Ask.Key] = x
		}
	}
	for _, key := range keys {
		x, there := pending[key]
		switch {
		case !there:
			o.fail(answers, []objects.AllocationKey{key}, NotPending, "")
		case x.Ask.Placeholder || x.Ask.TaskGroup() != "" && len(o.apps[x.app].Gang) > 0:
			o.fail(answers, []objects.AllocationKey{key}, MemberOfGang, "")
		default:
			targets = append(targets, key)
		}
	}
	return targets
}

// fail sets the answers of keys to one without an expected start.
func (o *original) fail(answers map[objects.AllocationKey]Answer, keys []objects.AllocationKey, code Code,
	detail string) map[objects.AllocationKey]Answer {
	for _, key := range keys {
		answers[key] = failed(code, detail, o.at)
	}
	return answers
}

// failed returns an answer without an expected start.
func failed(code Code, detail string, at time.Time) Answer {
	return Answer{Code: code, Detail: detail, At: at, P10: Missing, P50: Missing, P90: Missing}
}

// answer returns the answer of a key after the runs.
func (d *draws) answer(key objects.AllocationKey, made []*run) Answer {
	a := Answer{At: d.original.at, Runs: len(made), Basis: d.basis()}
	var starts []time.Duration
	over, endless := true, false
	for _, r := range made {
		if start, started := r.starts[key]; started {
			starts = append(starts, start)
			continue
		}
		over, endless = over && r.over, endless || r.endless
	}
	slices.Sort(starts)
	a.Started = len(starts)
	a.P10, a.P50, a.P90 = quantile(starts, a.Runs, 0.1), quantile(starts, a.Runs, 0.5), quantile(starts, a.Runs, 0.9)
	switch {
	case a.P50 != Missing:
	case endless:
		a.Code = NotEnoughHistory
	case over && a.Started == 0:
		a.Code = NeverAsThingsAre
	default:
		a.Code = BeyondHorizon
	}
	return a
}

// quantile returns the time within which a part of all runs have started; starts are those that have, ascending.
func quantile(starts []time.Duration, runs int, part float64) time.Duration {
	if i := int(math.Ceil(part*float64(runs))) - 1; i >= 0 && i < len(starts) {
		return starts[i]
	}
	return Missing
}

// basis returns the groups that most durations are from.
func (d *draws) basis() (out []Basis) {
	var all []*basisCounter
	for _, c := range d.used {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *basisCounter) int {
		return cmp.Or(cmp.Compare(b.draws, a.draws), cmp.Compare(a.Key.Queue, b.Key.Queue),
			cmp.Compare(a.Key.Value, b.Key.Value))
	})
	for _, c := range all[:min(len(all), maxBasis)] {
		out = append(out, Basis{c.Key, c.Ended, c.Quantile(0.5)})
	}
	return out
}
