package decay

import "math"

// A Clock measures time in ticks of a half-life. Times are milliseconds since 1970, at least 0.
type Clock struct {
	Tick int64 // milliseconds, at least 1000
}

// NewClock returns the Clock of a half-life in milliseconds, which counts as PerHalfLife whole ticks. Requires: a tick
// has a second or more.
func NewClock(halfLife int64) Clock { return Clock{halfLife / PerHalfLife} }

// At returns the tick of a time.
func (c Clock) At(ms int64) int64 { return ms / c.Tick }

// longest bounds the ticks of a constant amount that count: older ones are below the precision of the rest.
const longest = 128 * PerHalfLife

// History is the usage of one amount: its integral over time, in which what was used a half-life ago counts for half.
// It is scaled: an integral of tick k counts for Growth(k), and the sum is compared, or divided by the Growth of now.
// So what uses nothing does not change. The zero value has used nothing, and holds nothing, since the epoch.
type History struct {
	Past    Number // of whole ticks, scaled
	Partial uint64 // of the tick of At, before At: amount x milliseconds
	At      int64  // milliseconds since 1970
	Held    uint64 // the amount since At, at most MaxHeld
}

// MaxHeld is the greatest amount of a History.
const MaxHeld = 1<<36 - 1

// Advance moves At to a later time.
func (h *History) Advance(c Clock, ms int64) {
	was, now := c.At(h.At), c.At(ms)
	if now == was {
		h.Partial += h.Held * uint64(max(ms-h.At, 0))
		h.At = max(h.At, ms)
		return
	}
	if now < was {
		return
	}
	h.Past = h.Past.Plus(Of(h.Partial + h.Held*uint64((was+1)*c.Tick-h.At)).Times(Growth(was)))
	if h.Held > 0 {
		if now-was > longest { // the rest rounds to nothing
			h.Past, was = Number{}, now-longest
		}
		for k := was + 1; k < now; k++ {
			h.Past = h.Past.Plus(Of(h.Held * uint64(c.Tick)).Times(Growth(k)))
		}
	}
	h.Partial, h.At = h.Held*uint64(ms-now*c.Tick), ms
}

// Hold records that another amount is held from a time on, which is at or after At.
func (h *History) Hold(c Clock, ms int64, amount uint64) {
	h.Advance(c, ms)
	h.Held = min(amount, MaxHeld)
}

// Rest returns the scaled usage until a time, at or after At. It is the Past of a History that holds nothing from then
// on, but for what that time's tick has left: from the next tick on both are the same.
func (h *History) Rest(c Clock, ms int64) Number {
	x := *h
	x.Advance(c, max(ms, x.At))
	return x.Past.Plus(Of(x.Partial).Times(Growth(c.At(x.At))))
}

// Through returns the scaled usage of the ticks before one, which is that of At or a later one.
func (h *History) Through(c Clock, tick int64) Number {
	if c.At(h.At) == tick {
		return h.Past
	}
	x := *h
	x.Advance(c, tick*c.Tick)
	return x.Past
}

// Rescale makes h, which has advanced to now, one of another half-life: what was used until now is as much, and falls
// by the new half-life from now on.
func (h *History) Rescale(from, to Clock) {
	h.Past, h.Partial = h.Rest(from, h.At).Times(Growth(-from.At(h.At))).Times(Growth(to.At(h.At))), 0
}

// Average returns the scaled usage of the ticks before one as the average amount, in which what was used a half-life
// ago counts for half: usage over half-life / ln 2. It is for people.
func (c Clock) Average(scaled Number, tick int64) float64 {
	return scaled.Times(Growth(-tick)).Float() * math.Ln2 / float64(c.Tick*PerHalfLife)
}
