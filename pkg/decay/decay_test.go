package decay_test

import (
	"cmp"
	"math"
	"math/big"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/decay"
)

var numbers = rapid.Custom(func(t *rapid.T) decay.Number {
	n := decay.Of(rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3), rapid.Just[uint64](math.MaxUint64)).Draw(t, "n"))
	return n.Times(decay.Growth(rapid.Int64Range(-100*256, 100*256).Draw(t, "ticks")))
})

// exact returns a number without rounding.
func exact(n decay.Number) *big.Float {
	x := new(big.Float).SetPrec(1000).SetUint64(n.Mantissa)
	return x.SetMantExp(x, int(n.Exponent))
}

// assertNear checks that got is want, rounded down by less than 2 parts of 2^63.
func assertNear(t *rapid.T, got decay.Number, want *big.Float) {
	assert.Assert(t, got.Valid(), "%+v", got)
	rest := new(big.Float).SetPrec(1000).Sub(want, exact(got))
	bound := new(big.Float).SetMantExp(want, -62)
	assert.Assert(t, rest.Sign() >= 0 && rest.Cmp(bound) <= 0, "%v instead of %v", exact(got), want)
}

// Operations agree with exact ones, and round down.
func TestNumber_Operations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers.Draw(t, "a"), numbers.Draw(t, "b")
		x, y := exact(a), exact(b)
		assert.Equal(t, a.Compare(b), x.Cmp(y))
		wide := func() *big.Float { return new(big.Float).SetPrec(1000) }
		assertNear(t, a.Plus(b), wide().Add(x, y))
		assert.Equal(t, a.Plus(b), b.Plus(a))
		assertNear(t, a.Times(b), wide().Mul(x, y))
		if !b.IsZero() {
			assertNear(t, a.Over(b), wide().Quo(x, y))
		}
		assert.Assert(t, a.Plus(b).Compare(a) >= 0)
		if c := cmp.Compare(a.Abbreviate(), b.Abbreviate()); c != 0 {
			assert.Equal(t, c, a.Compare(b))
		}
		assert.Equal(t, decay.Number{}.Plus(a), a)
		assert.Assert(t, decay.Number{}.Times(a).IsZero())
	})
}

// Growth is a power of two, to the last bit but one, and grows with the ticks.
func TestGrowth_IsAPowerOfTwo(t *testing.T) {
	for ticks := int64(-600); ticks < 600; ticks++ {
		n := decay.Growth(ticks)
		want := math.Exp2(float64(ticks) / decay.PerHalfLife)
		assert.Assert(t, math.Abs(n.Float()/want-1) < 1e-15, "%d: %v instead of %v", ticks, n.Float(), want)
		assert.Assert(t, n.Compare(decay.Growth(ticks+1)) < 0)
		assert.Equal(t, decay.Growth(ticks+256), decay.Number{Mantissa: n.Mantissa, Exponent: n.Exponent + 1})
	}
	// The bits are the same everywhere.
	assert.Equal(t, decay.Growth(1).Mantissa, uint64(0x8058d7d2d5e5f6b0))
	assert.Equal(t, decay.Growth(128).Mantissa, uint64(0xb504f333f9de6484))
	assert.Equal(t, decay.Growth(255).Mantissa, uint64(0xff4ecb59511ec8a5))
}

// step is a change of what is held after a time.
type step struct {
	after int64
	held  uint64
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{rapid.Int64Range(0, 20_000_000).Draw(t, "after"), rapid.Uint64Range(0, decay.MaxHeld).Draw(t, "held")}
}), 1, 8)

// A history depends on what was held and when, and not on when it was advanced; and it is the integral of what was
// held, in which what is a half-life old counts for half.
func TestHistory_IsTheDecayedIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		halfLife := rapid.Int64Range(300_000, 86_400_000).Draw(t, "half-life")
		c := decay.NewClock(halfLife)
		start := rapid.SampledFrom([]int64{0, 1_700_000_000_000}).Draw(t, "start")
		a, b := decay.History{At: start}, decay.History{At: start}
		now, want := start, 0.0
		for _, s := range steps.Draw(t, "steps") {
			if between := rapid.Int64Range(0, s.after).Draw(t, "between"); between > 0 {
				b.Advance(c, now+between)
			}
			// in whole ticks: what was used in a tick is a multiple of 2^(-1/256) per tick later
			want = decayed(want, a.Held, c, now, now+s.after)
			now += s.after
			a.Hold(c, now, s.held)
			b.Hold(c, now, s.held)
			assert.Equal(t, a, b)
		}
		tick := c.At(now)
		value := a.Rest(c, now).Times(decay.Growth(-tick)).Float()
		assert.Assert(t, math.Abs(value-want) <= want*0.003+1, "%v instead of %v", value, want)
		assert.Assert(t, a.Held <= decay.MaxHeld)
	})
}

// decayed returns a usage after a time in which something was held, by calculus.
func decayed(usage float64, held uint64, c decay.Clock, from, to int64) float64 {
	h := float64(c.Tick * decay.PerHalfLife)
	fall := math.Exp2(-float64(to-from) / h)
	return usage*fall + float64(held)*h/math.Ln2*(1-fall)
}

// A clock that jumps a year, or is set back, leaves usage that is neither infinite nor lost.
func TestHistory_ClocksThatJump(t *testing.T) {
	const day, year = 86_400_000, 365 * 86_400_000
	c := decay.NewClock(day)
	h := decay.History{At: year}
	h.Hold(c, year, 1000)
	h.Hold(c, year+day, 0)
	used := h.Through(c, c.At(year+2*day))
	h.Advance(c, year) // back
	assert.Equal(t, h.Through(c, c.At(year+2*day)), used)
	h.Advance(c, 3*year)
	assert.Equal(t, h.Through(c, c.At(3*year)), used) // it is as far from others as it was
	h.Hold(c, 3*year, 1000)
	h.Advance(c, 100*year)
	average := c.Average(h.Through(c, c.At(100*year)), c.At(100*year))
	assert.Assert(t, math.Abs(average-1000) < 3, "%v", average)
}

// What was used is as much by another half-life.
func TestHistory_Rescale(t *testing.T) {
	const hour = 3_600_000
	from, to := decay.NewClock(hour), decay.NewClock(24*hour)
	now := int64(1_700_000_000_000)
	h := decay.History{At: now}
	h.Hold(from, now, 1<<30)
	now += 5 * hour
	h.Hold(from, now, 0)
	before := h.Rest(from, now).Times(decay.Growth(-from.At(now))).Float()
	h.Rescale(from, to)
	after := h.Past.Times(decay.Growth(-to.At(now))).Float()
	assert.Assert(t, math.Abs(after/before-1) < 1e-12, "%v instead of %v", after, before)
	later := h.Through(to, to.At(now)+decay.PerHalfLife).Times(decay.Growth(-to.At(now) - decay.PerHalfLife)).Float()
	assert.Assert(t, math.Abs(later/before-0.5) < 1e-12)
}
