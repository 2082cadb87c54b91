package forecast

import (
	"hash/fnv"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// draws are the durations of allocations in all runs of a forecast. They depend on the key and the number of the run
// only, so that a forecast can be repeated.
type draws struct {
	original  *original
	estimator *durations.Estimator
	estimates []*durations.Estimate           // by application; nil: too little is known, or it was not asked for
	asked     []bool                          // by application
	ask       map[objects.AllocationKey]int   // the application of each pending ask
	used      map[durations.Key]*basisCounter // the estimates that were used
}

// basisCounter counts the draws from an estimate.
type basisCounter struct {
	*durations.Estimate
	draws int
}

func newDraws(o *original, e *durations.Estimator) *draws {
	d := &draws{
		original: o, estimator: e, estimates: make([]*durations.Estimate, len(o.apps)), asked: make([]bool, len(o.apps)),
		ask: make(map[objects.AllocationKey]int, len(o.asks)), used: map[durations.Key]*basisCounter{},
	}
	for _, x := range o.asks {
		d.ask[x.Ask.Key] = x.app
	}
	return d
}

// running returns the allocations of the original, for the estimator.
func (o *original) running() []durations.Running {
	out := make([]durations.Running, 0, len(o.bound))
	for _, x := range o.bound {
		if !x.Ask.Placeholder {
			out = append(out, durations.Running{Leaf: o.apps[x.app].leaf, Value: o.apps[x.app].value, BoundAt: x.BoundAt})
		}
	}
	return out
}

// remaining returns how much longer a running allocation runs; known is false if too little is known.
func (d *draws) remaining(x item, run int) (remaining time.Duration, known bool) {
	e := d.of(x.app)
	if e == nil {
		return 0, false
	}
	return e.Remaining(max(0, d.original.at.Sub(x.BoundAt)), correlated(e.Key, x.Ask.Key, run)), true
}

// fresh returns how long a pending ask runs once it is placed.
func (d *draws) fresh(key objects.AllocationKey, run int) (duration time.Duration, known bool) {
	app, there := d.ask[key]
	if !there {
		return 0, false
	}
	e := d.of(app)
	if e == nil {
		return 0, false
	}
	return e.Quantile(correlated(e.Key, key, run)), true
}

// of returns the estimate for an application.
func (d *draws) of(app int) *durations.Estimate {
	if !d.asked[app] {
		a := &d.original.apps[app]
		d.estimates[app], d.asked[app] = d.estimator.Of(a.leaf, a.value), true
	}
	e := d.estimates[app]
	if e == nil {
		return nil
	}
	c := d.used[e.Key]
	if c == nil {
		c = &basisCounter{Estimate: e}
		d.used[e.Key] = c
	}
	c.draws++
	return e
}

// uniform returns a number from 0 to below 1 for a key in a run. The numbers of one key in successive runs are spread
// evenly, because each is the former one plus the golden section.
func uniform(key objects.AllocationKey, run int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // it never fails
	x := h.Sum64()
	x ^= x >> 33 // FNV leaves keys with the same beginning close to each other
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	const bits = 53
	_, u := math.Modf(float64(x>>(64-bits))/(1<<bits) + float64(run)*(math.Phi-1))
	return u
}

// common says how far allocations of one group run long or short together: it is the correlation of their draws in a
// run. Tasks of one job are alike, and draws that are independent average out to a span that is too narrow (ADR 77).
const common = 0.1

// correlated returns a uniform number for an allocation of a group, which depends in part on the group in this run: the
// weighted sum of two normal variables is normal.
func correlated(group durations.Key, key objects.AllocationKey, run int) float64 {
	of := "group " + string(group.Queue) + " " + group.Value
	z := math.Sqrt(common)*normal(uniform(objects.AllocationKey(of), run)) + math.Sqrt(1-common)*normal(uniform(key, run))
	return within(0.5 * math.Erfc(-z/math.Sqrt2))
}

// normal returns the standard normal variable of a uniform one.
func normal(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*within(u)-1) }

// within returns a probability that is neither 0 nor 1.
func within(u float64) float64 {
	const least = 1e-9
	return min(max(u, least), 1-least)
}
