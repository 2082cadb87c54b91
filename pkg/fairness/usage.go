package fairness

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Usage is the usage over time of a queue or an application, as of the last change. It is immutable.
type Usage struct {
	HalfLife time.Duration
	level    objects.QueuePath
	kind     Kind
	name     string // of the child, the application or the user that it counts for
	history  decay.History
	weight   decay.Number
}

func (u *Usage) clock() decay.Clock { return decay.NewClock(u.HalfLife.Milliseconds()) }

// Share returns the part of the cluster that was used on average until a time, in which what was used a half-life ago
// counts for half (FAI-3). What was used in the tick of that time is not in it.
func (u *Usage) Share(at time.Time) float64 {
	c := u.clock()
	tick := c.At(max(at.UnixMilli(), u.history.At))
	return c.Average(u.history.Through(c, tick), tick) / whole
}

// Kept returns what would be kept at a time.
func (u *Usage) Kept(at time.Time) Kept {
	past := u.history.Rest(u.clock(), at.UnixMilli())
	return Kept{u.level, u.kind, u.name, u.HalfLife.Milliseconds(), past.Mantissa, past.Exponent}
}

// Held returns the part of the cluster that is held now.
func (u *Usage) Held() float64 { return float64(u.history.Held) / whole }

// Weight returns by what both are divided before they are compared.
func (u *Usage) Weight() float64 { return u.weight.Float() }

// Key returns by what it is compared at a time: the smaller one goes first. It is what Share and Held come to by
// weight, in parts of the cluster.
func (u *Usage) Key(at time.Time) float64 {
	const ln2 = 0.6931471805599453
	return (u.Share(at) + u.Held()*ln2/heldFor) / u.Weight()
}

// OfQueue returns the usage over time of q; nil: its parent does not order by it.
func (eng *Engine) OfQueue(q *objects.Queue) *Usage { return eng.usageOf(eng.queues[q]) }

// OfApplication returns the usage over time of a, or of its user; nil: its leaf does not order by it.
func (eng *Engine) OfApplication(a *objects.Application) *Usage { return eng.usageOf(eng.apps[a]) }

func (eng *Engine) usageOf(m *member) *Usage {
	if m == nil {
		return nil
	}
	weight := eng.byWeight(m, decay.Of(1), decay.Number.Times)
	l := m.level
	return &Usage{time.Duration(l.halfLife) * time.Millisecond, l.path, l.kind(), m.name, m.history, weight}
}
