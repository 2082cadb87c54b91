package bench

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// churnCore keeps a cluster full: an allocation is released, a pending ask is placed, and another ask
// follows.
func churnCore(s *stream, r *result) error {
	core := newCore(s)
	t := newDriver(core)
	if err := t.load(s); err != nil {
		return err
	}
	t.Schedule(t.now, 0)
	c := coreChurn{driver: t, running: make(placements, 0, s.spec.Asks), rng: s.rng(seedReleases)}
	t.fill(&c.running, nil)
	if len(c.running) == 0 {
		return errors.New("nothing could be placed")
	}
	s.enterOutcome(c.running, r.sample)
	delete(r.sample, "allocations")
	count := min(int(s.spec.Churn*float64(len(c.running))), len(s.draws)-s.spec.Asks)
	for i := range count { // created in advance, so that this costs no time of the scheduler
		c.nextAsks = append(c.nextAsks, s.submit(s.spec.Asks+i))
	}
	if err := c.releaseAndDecide(count/10, measure.NewHistogram(), measure.NewHistogram()); err != nil { // the warm-up
		return err
	}
	runtime.GC()
	before, decided := measure.Read(), c.decided
	if err := c.releaseAndDecide(count-count/10, r.family(decisionTimes), r.family(releaseTimes)); err != nil {
		return err
	}
	var total measure.Usage
	total.Add(before, c.decided-decided)
	if total.Decisions == 0 {
		return errors.New("no release was followed by an allocation")
	}
	enterUsage(&total, r.sample, unpaced)
	r.sample["allocations"] = float64(total.Decisions)
	return core.Check()
}

// coreChurn is a full cluster in which allocations end.
type coreChurn struct {
	*driver
	running  placements
	nextAsks []scheduler.Command // asks, one for each allocation that ends
	rng      *rand.Rand
	decided  int
}

// releaseAndDecide releases count allocations one after the other. There must be as many asks in
// nextAsks.
func (c *coreChurn) releaseAndDecide(count int, decisions, releases measure.Histogram) error {
	for range count {
		if len(c.running) == 0 {
			return errors.New("all allocations have ended, and no ask was placed")
		}
		x := c.takeRunning()
		began := time.Now()
		if err := c.apply(scheduler.Release{App: x.App, Key: x.Key, Type: scheduler.StoppedByRM}); err != nil {
			return err
		}
		released, first := time.Now(), true
		for {
			effects, more := c.Schedule(c.now, 1)
			if !more {
				break
			}
			if now := time.Now(); first {
				releases.Add(now.Sub(began))
				decisions.Add(now.Sub(released))
				first = false
			}
			c.decided += c.running.collect(effects)
		}
		if err := c.apply(c.nextAsks[0]); err != nil {
			return err
		}
		c.nextAsks = c.nextAsks[1:]
	}
	return nil
}

// takeRunning removes a random allocation from the list, which must not be empty.
func (c *coreChurn) takeRunning() *objects.Ask {
	i, last := c.rng.IntN(len(c.running)), len(c.running)-1
	x := c.running[i]
	c.running[i] = c.running[last]
	c.running[last] = nil
	c.running = c.running[:last]
	return x
}
