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
	first := newTimes()
	if err := p.turn(1, first, newTimes()); err != nil {
		return err
	}
	r.sample["firstLook"] = micros(time.Duration(first.h.Max()))
	if err := p.turns(s.spec.Preemptors/10, newTimes(), newTimes()); err != nil { // the warm-up
		return err
	}
	runtime.GC()
	placed, told, effort := p.placed, p.told, core.PreemptionEffort()
	before := read()
	if err := p.turns(s.spec.Preemptors, r.family(victimTimes), r.family(roomTimes)); err != nil {
		return err
	}
	var total spent
	total.add(before, p.placed-placed)
	total.enter(r.sample, asFastAsItGoes)
	r.enterEffort(effort, core.PreemptionEffort())
	r.sample["victims"] = float64(p.told-told) / float64(total.decisions)
	r.sample["allocations"] = float64(p.placed)
	return core.Check()
}

// enterEffort puts into a sample what was looked at between two counts, per look.
func (r *result) enterEffort(before, now preemption.Effort) {
	looks := float64(now.Looks - before.Looks)
	r.sample["nodesTried"] = float64(now.Tried-before.Tried) / looks
	r.sample["nodesRanked"] = float64(now.Ranked-before.Ranked) / looks
	r.sample["listed"] = float64(now.Listed-before.Listed) / looks
}

// preempting is a full cluster in which asks take the place of others.
type preempting struct {
	*tape
	stream *stream
	coming []scheduler.Command // made before, so that making them costs the scheduler nothing
	next   int                 // the preemptor that comes next
	placed int                 // preemptors that have their node
	told   int                 // allocations that were told to leave

	leaving [][]scheduler.Released // of these, who has not left yet, preemptor by preemptor
}

// loadPreempting fills d with everything but the asks that preempt.
func loadPreempting(s *stream, d decider) (*preempting, error) {
	p := &preempting{tape: newTape(d), stream: s}
	err := errors.Join(p.load(s), p.tellAll(len(s.preemptorLeaves()), s.addPreemptorApp))
	if err != nil {
		return nil, err
	}
	var running placements
	p.fill(&running, nil)
	if len(running) == 0 {
		return nil, errors.New("nothing could be placed")
	}
	for i := range s.spec.Preemptors {
		p.coming = append(p.coming, s.submitPreemptor(i))
	}
	return p, nil
}

// turns lets preemptors come until so many have come in all.
func (p *preempting) turns(until int, victims, room times) error {
	for p.next < until {
		if err := p.turn(min(p.stream.spec.AtOnce, until-p.next), victims, room); err != nil {
			return err
		}
	}
	return nil
}

// turn lets so many preemptors come together, and each victim leave when it was told to.
func (p *preempting) turn(count int, victims, room times) error {
	began := time.Now()
	for range count {
		if err := p.tell(p.coming[p.next]); err != nil {
			return err
		}
		p.next++
	}
	p.now = p.now.Add(moment) // as long as a guarantee has to wait
	if err := p.decide(began, victims, room); err != nil {
		return err
	}
	for len(p.leaving) > 0 {
		began, plan := time.Now(), p.leaving[0]
		p.leaving = p.leaving[1:]
		for _, y := range plan {
			if err := p.tell(scheduler.Release{App: y.App, Key: y.Key, Type: y.Type}); err != nil {
				return err
			}
		}
		if err := p.decide(began, victims, room); err != nil {
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
func (p *preempting) decide(began time.Time, victims, room times) error {
	for {
		effects, more := p.Schedule(p.now, 1)
		now := time.Now()
		plan, placed, err := p.hear(effects)
		switch {
		case err != nil:
			return err
		case len(plan) > 0:
			victims.add(now.Sub(began))
			p.leaving = append(p.leaving, plan)
			began = now
		case placed > 0:
			room.add(now.Sub(began))
			began = now
		}
		if !more {
			return nil
		}
	}
}

// hear takes note of who was told to leave and of preemptors that were placed. Its error
// names a victim that is none.
func (p *preempting) hear(effects []scheduler.Effect) (plan []scheduler.Released, placed int, err error) {
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			if numberOf(e.Ask.Key) >= p.stream.firstPreemptor() {
				placed++
			}
		case scheduler.Released:
			if err := p.stream.mayLeave(e); err != nil {
				return nil, 0, err
			}
			plan = append(plan, e)
		}
	}
	p.placed += placed
	p.told += len(plan)
	return plan, placed, nil
}

// mayLeave checks what can be known of a victim without the books: asks that preempt are
// above all others, or in a queue that is owed room, and take nothing from each other.
func (s *stream) mayLeave(y scheduler.Released) error {
	switch {
	case y.Type != scheduler.PreemptedByScheduler:
		return fmt.Errorf("allocation %s was released as %s, and not preempted", y.Key, y.Type)
	case numberOf(y.Key) >= s.firstPreemptor():
		return fmt.Errorf("allocation %s was told to leave, and is as important as who preempts it", y.Key)
	}
	return nil
}
