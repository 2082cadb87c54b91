package bench

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// preemptCore fills a cluster and lets asks take the place of what runs in it. Every victim
// leaves when it is told to, and every one of these asks must get its node.
func preemptCore(s *stream, r *result) error {
	core := newCore(s)
	p, err := loadPreempting(s, core)
	if err != nil {
		return err
	}
	firstEvaluation := newHistogram()
	if err := p.runBatch(1, firstEvaluation, newHistogram()); err != nil {
		return err
	}
	r.sample["firstEvaluation"] = micros(time.Duration(firstEvaluation.h.Max()))
	if err := p.runTo(s.spec.Preemptors/10, newHistogram(), newHistogram()); err != nil { // the warm-up
		return err
	}
	runtime.GC()
	placed, preempted, effort := p.placed, p.preempted, core.PreemptionSearchStats()
	before := read()
	if err := p.runTo(s.spec.Preemptors, r.family(victimTimes), r.family(releasedTimes)); err != nil {
		return err
	}
	var total usage
	total.add(before, p.placed-placed)
	total.enter(r.sample, unpaced)
	r.enterSearchEffort(effort, core.PreemptionSearchStats())
	r.sample["victims"] = float64(p.preempted-preempted) / float64(total.decisions)
	r.sample["allocations"] = float64(p.placed)
	return core.Check()
}

// enterSearchEffort puts into a sample what was looked at between two counts, per look.
func (r *result) enterSearchEffort(before, now preemption.SearchStats) {
	looks := float64(now.Searches - before.Searches)
	r.sample["nodesTried"] = float64(now.NodesTried-before.NodesTried) / looks
	r.sample["nodesRanked"] = float64(now.NodesRanked-before.NodesRanked) / looks
	r.sample["candidatesListed"] = float64(now.NodesListed-before.NodesListed) / looks
}

// preemptionRun is a full cluster in which asks take the place of others.
type preemptionRun struct {
	*driver
	stream         *stream
	nextPreemptors []scheduler.Command // made before, so that making them costs the scheduler nothing
	next           int                 // the preemptor that comes next
	placed         int                 // preemptors that have their node
	preempted      int                 // allocations that were told to leave

	unconfirmed [][]scheduler.Released // of these, who has not left yet, preemptor by preemptor
}

// loadPreempting fills d with everything but the asks that preempt.
func loadPreempting(s *stream, d decider) (*preemptionRun, error) {
	p := &preemptionRun{driver: newDriver(d), stream: s}
	err := errors.Join(p.load(s), p.applyAll(len(s.preemptorLeaves()), s.addPreemptorApp))
	if err != nil {
		return nil, err
	}
	var running placements
	p.fill(&running, nil)
	if len(running) == 0 {
		return nil, errors.New("nothing could be placed")
	}
	for i := range s.spec.Preemptors {
		p.nextPreemptors = append(p.nextPreemptors, s.submitPreemptor(i))
	}
	return p, nil
}

// runTo lets preemptors come until so many have come in all.
func (p *preemptionRun) runTo(until int, victims, afterRelease histogram) error {
	for p.next < until {
		if err := p.runBatch(min(p.stream.spec.AtOnce, until-p.next), victims, afterRelease); err != nil {
			return err
		}
	}
	return nil
}

// runBatch lets so many preemptors come together, and each victim leave when it was told to.
func (p *preemptionRun) runBatch(count int, victims, afterRelease histogram) error {
	began := time.Now()
	for range count {
		if err := p.apply(p.nextPreemptors[p.next]); err != nil {
			return err
		}
		p.next++
	}
	p.now = p.now.Add(commandInterval) // as long as a guarantee has to wait
	if err := p.decide(began, victims, afterRelease); err != nil {
		return err
	}
	for len(p.unconfirmed) > 0 {
		began, plan := time.Now(), p.unconfirmed[0]
		p.unconfirmed = p.unconfirmed[1:]
		for _, y := range plan {
			if err := p.apply(scheduler.Release{App: y.App, Key: y.Key, Type: y.Type}); err != nil {
				return err
			}
		}
		if err := p.decide(began, victims, afterRelease); err != nil {
			return err
		}
	}
	if p.placed != p.next {
		return fmt.Errorf("%d asks came that may preempt, and %d have their node", p.next, p.placed)
	}
	return nil
}

// decide decides until nothing is left, and notes how long it took, since it began or since
// the last one, until the victims of a preemptor were told, or until one was placed.
func (p *preemptionRun) decide(began time.Time, victims, afterRelease histogram) error {
	for {
		effects, more := p.Schedule(p.now, 1)
		now := time.Now()
		plan, placed, err := p.collect(effects)
		switch {
		case err != nil:
			return err
		case len(plan) > 0:
			victims.add(now.Sub(began))
			p.unconfirmed = append(p.unconfirmed, plan)
			began = now
		case placed > 0:
			afterRelease.add(now.Sub(began))
			began = now
		}
		if !more {
			return nil
		}
	}
}

// collect takes note of who was told to leave and of preemptors that were placed. Its error
// names a victim that is none.
func (p *preemptionRun) collect(effects []scheduler.Effect) (plan []scheduler.Released, placed int, err error) {
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			if numberOf(e.Ask.Key) >= p.stream.firstPreemptor() {
				placed++
			}
		case scheduler.Released:
			if err := p.stream.checkVictim(e); err != nil {
				return nil, 0, err
			}
			plan = append(plan, e)
		}
	}
	p.placed += placed
	p.preempted += len(plan)
	return plan, placed, nil
}

// checkVictim checks what can be known of a victim without the books: asks that preempt are
// above all others, or in a queue that is owed room, and take nothing from each other.
func (s *stream) checkVictim(y scheduler.Released) error {
	switch {
	case y.Type != scheduler.PreemptedByScheduler:
		return fmt.Errorf("allocation %s was released as %s, and not preempted", y.Key, y.Type)
	case numberOf(y.Key) >= s.firstPreemptor():
		return fmt.Errorf("allocation %s was told to leave, and is as important as who preempts it", y.Key)
	}
	return nil
}
