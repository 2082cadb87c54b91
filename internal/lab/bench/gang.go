package bench

import (
	"fmt"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// gangTaskGroup is the task group of all members.
const gangTaskGroup = "workers"

// measureGangs measures gangs with virtual placeholders, one after the other: each application is a gang, whose members
// are all of its asks. What is timed is the run of decisions that places them together.
func measureGangs(s *stream, r *result) error {
	core := newCore(s)
	t := newDriver(core)
	if err := t.applyAll(len(s.nodes), s.addNode); err != nil {
		return err
	}
	times := r.family(gangTimes)
	p, spent := make(placements, 0, s.spec.Asks), time.Duration(0)
	runtime.GC()
	for j := range s.apps {
		members, err := t.submitGang(s, j)
		if err != nil {
			return err
		}
		began := time.Now()
		effects, _ := t.Schedule(t.now, 1)
		took := time.Since(began)
		if n := p.collect(effects); n != members {
			return fmt.Errorf("gang %s: %d of %d members were placed", s.apps[j].ID, n, members)
		}
		times.Add(took)
		spent += took
	}
	r.sample["gangPerMember"] = measure.Micros(spent) / float64(len(p))
	s.enterOutcome(p, r.sample)
	return core.Check()
}

// submitGang submits the application with number j and its asks, and returns how many these are.
func (t *driver) submitGang(s *stream, j int) (members int, err error) {
	var asks []*objects.Ask
	for i := j; i < s.spec.Asks; i += len(s.apps) {
		ask := s.ask(i)
		ask.Details = &objects.AskDetails{TaskGroup: gangTaskGroup, Tags: ask.Tags()}
		asks = append(asks, ask)
	}
	a := &s.apps[j]
	err = t.apply(scheduler.AddApplication{
		App: a.ID, User: security.User{Name: a.User}, Queue: string(a.Queue),
		Gang: gangs.Spec{Virtual: []gangs.VirtualGroup{{Name: gangTaskGroup, MinMember: len(asks), Topology: s.topology()}}},
	})
	if err != nil {
		return 0, err
	}
	return len(asks), t.applyAll(len(asks), func(i int) scheduler.Command { return scheduler.SubmitAsk{Ask: asks[i]} })
}
