package bench

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// churnCore keeps a cluster as full as it gets: an allocation ends, what waits takes its
// place, and another ask comes.
func churnCore(s *stream, r *result) error {
	core := newCore(s)
	t := newTape(core)
	if err := t.load(s); err != nil {
		return err
	}
	t.Schedule(t.now, 0)
	c := churning{tape: t, running: make(placements, 0, s.spec.Asks), dice: s.dice(diceReleases)}
	t.fill(&c.running, nil)
	if len(c.running) == 0 {
		return errors.New("nothing could be placed")
	}
	s.enterOutcome(c.running, r.sample)
	delete(r.sample, "allocations")
	count := min(int(s.spec.Churn*float64(len(c.running))), len(s.draws)-s.spec.Asks)
	for i := range count { // made before, so that making them costs the scheduler nothing
		c.coming = append(c.coming, s.submit(s.spec.Asks+i))
	}
	if err := c.turn(count/10, newTimes(), newTimes()); err != nil { // the warm-up
		return err
	}
	runtime.GC()
	before, decided := read(), c.decided
	if err := c.turn(count-count/10, r.family(decisionTimes), r.family(releaseTimes)); err != nil {
		return err
	}
	var total spent
	total.add(before, c.decided-decided)
	if total.decisions == 0 {
		return errors.New("no release made room for another ask")
	}
	total.enter(r.sample, asFastAsItGoes)
	r.sample["allocations"] = float64(total.decisions)
	return core.Check()
}

// churning is a full cluster in which work ends.
type churning struct {
	*tape
	running placements
	coming  []scheduler.Command // asks, one for each allocation that ends
	dice    *rand.Rand
	decided int
}

// turn ends so many allocations, one after the other. Requires: as many asks are coming.
func (c *churning) turn(count int, decisions, releases times) error {
	for range count {
		if len(c.running) == 0 {
			return errors.New("everything has ended, and nothing took its place")
		}
		x := c.end()
		began := time.Now()
		if err := c.tell(scheduler.Release{App: x.App, Key: x.Key, Type: scheduler.StoppedByRM}); err != nil {
			return err
		}
		released, first := time.Now(), true
		for {
			effects, more := c.Schedule(c.now, 1)
			if !more {
				break
			}
			if now := time.Now(); first {
				releases.add(now.Sub(began))
				decisions.add(now.Sub(released))
				first = false
			}
			c.decided += c.running.hear(effects)
		}
		if err := c.tell(c.coming[0]); err != nil {
			return err
		}
		c.coming = c.coming[1:]
	}
	return nil
}

// end takes any of the allocations that run out of the list. Requires: there is one.
func (c *churning) end() *objects.Ask {
	i, last := c.dice.IntN(len(c.running)), len(c.running)-1
	x := c.running[i]
	c.running[i] = c.running[last]
	c.running[last] = nil
	c.running = c.running[:last]
	return x
}
