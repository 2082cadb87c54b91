package forecast

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Bounds of the calibration of a partition.
const (
	maxOpen    = 1_000 // answers whose asks still wait; the oldest is forgotten first
	keptErrors = 1_000 // errors that the median is of: the last ones
)

// Calibration says how right the answers of a partition were. Each ask counts once, with the first answer that it had.
type Calibration struct {
	Started   int // asks that have started after an answer
	WithinP10 int // of these, within the first quantile; about 10 % should
	WithinP50 int // about half should
	WithinP90 int // about 90 % should

	// of the last 1,000 that have started: half were off by less, compared with the median; 0: none has
	MedianError time.Duration

	Open      int // asks that still wait
	Withdrawn int // asks that ended without a start
	Forgotten int // asks of which the answer was forgotten, because there were too many or the partition was reset
}

// calibration remembers answers until their asks start.
type calibration struct {
	counts     Calibration
	correction correction
	open       map[objects.AllocationKey]remembered
	// of open, the oldest answer first; keys that are not in open any more are passed over
	order  []objects.AllocationKey
	errors []time.Duration // a ring
	next   int
}

// remembered is an answer that was given, and what it was before the correction.
type remembered struct{ given, raw Answer }

func newCalibration() *calibration {
	return &calibration{open: map[objects.AllocationKey]remembered{}}
}

// give corrects an answer that will be given. It is remembered if it has an expected start, unless the ask has had one.
func (c *calibration) give(key objects.AllocationKey, raw Answer) Answer {
	a := c.correction.apply(raw)
	if _, there := c.open[key]; there || !a.Known() {
		return a
	}
	for len(c.open) >= maxOpen {
		oldest := c.order[0]
		c.order = c.order[1:]
		if _, there := c.open[oldest]; there {
			delete(c.open, oldest)
			c.counts.Forgotten++
		}
	}
	if len(c.order) >= 2*maxOpen {
		c.order = slices.DeleteFunc(c.order, func(key objects.AllocationKey) bool { _, there := c.open[key]; return !there })
	}
	c.open[key], c.order = remembered{a, raw}, append(c.order, key)
	return a
}

// onEffects counts the starts and ends of asks.
func (c *calibration) onEffects(effects []scheduler.Effect, now time.Time) {
	if len(c.open) == 0 {
		return
	}
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			c.started(e.Ask.Key, now)
		case scheduler.AskCancelled:
			c.withdrawn(e.Key)
		case scheduler.AskTimedOut:
			c.withdrawn(e.Key)
		case scheduler.Released: // it was placed while the answer was made
			c.withdrawn(e.Key)
		case scheduler.PartitionReset:
			c.counts.Forgotten += len(c.open)
			clear(c.open)
			c.order = nil
		}
	}
}

func (c *calibration) started(key objects.AllocationKey, now time.Time) {
	x, there := c.open[key]
	if !there {
		return
	}
	delete(c.open, key)
	a, waited, n := &x.given, now.Sub(x.given.At), &c.counts
	c.correction.add(&x.raw, waited)
	n.Started++
	for _, q := range []struct {
		quantile time.Duration
		within   *int
	}{{a.P10, &n.WithinP10}, {a.P50, &n.WithinP50}, {a.P90, &n.WithinP90}} {
		if q.quantile == Missing || waited <= q.quantile {
			*q.within++
		}
	}
	off := (waited - a.P50).Abs()
	if len(c.errors) < keptErrors {
		c.errors = append(c.errors, off)
		return
	}
	c.errors[c.next] = off
	c.next = (c.next + 1) % keptErrors
}

func (c *calibration) withdrawn(key objects.AllocationKey) {
	if _, there := c.open[key]; there {
		delete(c.open, key)
		c.counts.Withdrawn++
	}
}

// read returns the calibration until now.
func (c *calibration) read() Calibration {
	out := c.counts
	out.Open = len(c.open)
	if len(c.errors) > 0 {
		sorted := slices.Sorted(slices.Values(c.errors))
		out.MedianError = sorted[len(sorted)/2]
	}
	return out
}
