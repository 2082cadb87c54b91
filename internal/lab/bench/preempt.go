package bench

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"

	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// preemptCore fills a cluster and submits preemptors. Every victim is confirmed at once, and every
// preemptor must be placed.
func preemptCore(s *stream, r *result) error {
	core := newCore(s)
	p, err := loadPreempting(s, core)
	if err != nil {
		return err
	}
	firstEvaluation := measure.NewHistogram()
	if err := p.runBatch(1, firstEvaluation, measure.NewHistogram()); err != nil {
		return err
	}
	r.sample["firstEvaluation"] = measure.Micros(firstEvaluation.Max())
	if err := p.runTo(s.spec.Preemptors/10, measure.NewHistogram(), measure.NewHistogram()); err != nil { // the warm-up
		return err
	}
	runtime.GC()
	placed, preempted, effort := p.placed, p.preempted, core.PreemptionSearchStats()
	before := measure.Read()
	if err := p.runTo(s.spec.Preemptors, r.family(victimTimes), r.family(releasedTimes)); err != nil {
		return err
	}
	var total measure.Usage
	total.Add(before, p.placed-placed)
	enterUsage(&total, r.sample, unpaced)
	r.enterSearchEffort(effort, core.PreemptionSearchStats())
	r.sample["victims"] = float64(p.preempted-preempted) / float64(total.Decisions)
	r.sample["allocations"] = float64(p.placed)
	return core.Check()
}

// enterSearchEffort puts the effort between two counts into a sample, per evaluation.
func (r *result) enterSearchEffort(before, now victim.SearchStats) {
	looks := float64(now.Searches - before.Searches)
	r.sample["nodesTried"] = float64(now.NodesTried-before.NodesTried) / looks
	r.sample["nodesRanked"] = float64(now.NodesRanked-before.NodesRanked) / looks
	r.sample["candidatesListed"] = float64(now.NodesListed-before.NodesListed) / looks
}

// preemptionRun is a full cluster in which asks preempt.
type preemptionRun struct {
	*driver
	stream         *stream
	nextPreemptors []scheduler.Command // created in advance, so that this costs no time of the scheduler
	next           int                 // index of the next preemptor
	placed         int                 // placed preemptors
	preempted      int                 // victims

	unconfirmed [][]scheduler.Released // victims that are not confirmed, by preemptor
}

// loadPreempting fills d with everything but the preemptors.
func loadPreempting(s *stream, d Decider) (*preemptionRun, error) {
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

// runTo submits preemptors up to the number until.
func (p *preemptionRun) runTo(until int, victims, afterRelease measure.Histogram) error {
	for p.next < until {
		if err := p.runBatch(min(p.stream.spec.AtOnce, until-p.next), victims, afterRelease); err != nil {
			return err
		}
	}
	return nil
}

// runBatch submits count preemptors together, and confirms each victim.
func (p *preemptionRun) runBatch(count int, victims, afterRelease measure.Histogram) error {
	began := time.Now()
	for range count {
		if err := p.apply(p.nextPreemptors[p.next]); err != nil {
			return err
		}
		p.next++
	}
	p.now = p.now.Add(commandInterval) // the preemption delay of a guarantee
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
		return fmt.Errorf("%d preemptors were submitted, and %d are placed", p.next, p.placed)
	}
	return nil
}

// decide schedules until nothing is left. It records the time, since began or since the last record,
// until the victims of a preemptor are released, or until a preemptor is placed.
func (p *preemptionRun) decide(began time.Time, victims, afterRelease measure.Histogram) error {
	for {
		effects, more := p.Schedule(p.now, 1)
		now := time.Now()
		plan, placed, err := p.collect(effects)
		switch {
		case err != nil:
			return err
		case len(plan) > 0:
			victims.Add(now.Sub(began))
			p.unconfirmed = append(p.unconfirmed, plan)
			began = now
		case placed > 0:
			afterRelease.Add(now.Sub(began))
			began = now
		}
		if !more {
			return nil
		}
	}
}

// collect records victims and placed preemptors. The error names an invalid victim.
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

// checkVictim checks a victim without the state of the scheduler: preemptors have a higher priority
// than all others, or a queue below its guarantee, and do not preempt each other.
func (s *stream) checkVictim(y scheduler.Released) error {
	switch {
	case y.Type != scheduler.PreemptedByScheduler:
		return fmt.Errorf("allocation %s was released as %s, and not preempted", y.Key, y.Type)
	case numberOf(y.Key) >= s.firstPreemptor():
		return fmt.Errorf("allocation %s was preempted, and is a preemptor", y.Key)
	}
	return nil
}
