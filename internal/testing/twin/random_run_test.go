package twin

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Failure is the first step at which a Core and its twin differ, with the differences.
type Failure struct {
	StepIndex  int
	FailedStep randomrun.Step
	Core       []scheduler.Effect
	Twin       []scheduler.Effect
	Problem    string
}

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d: %s\n%s\n", f.StepIndex, f.FailedStep, f.Problem)
	printEffects := func(name string, effects []scheduler.Effect) {
		fmt.Fprintf(&b, "%s said:\n", name)
		for _, text := range effectSummaries(effects) {
			fmt.Fprintf(&b, "\t%s\n", text)
		}
	}
	printEffects("core", f.Core)
	printEffects("twin", f.Twin)
	return b.String()
}

// Execute runs the steps on a Core, on its twin and on a second Core, and compares them after every
// step. nil: they agree. The second Core may have another bound of shapes, which must have no effect,
// and is not audited, because an audit might refresh its state.
func Execute(s randomrun.Run) *Failure { return executeOn(s, newHarness(s)) }

// newHarness returns the state at the start of a run.
func newHarness(s randomrun.Run) *harness {
	oracle := s.Oracle.Oracle()
	opt := objects.Options{Shapes: feasibility.DefaultShapes, Lifetimes: s.Lifetimes, Evaluations: 1 << 30,
		Candidates: s.MaxCandidates, Names: s.MaxNames, AskNames: s.MaxAskNames, Refusals: s.MaxRefusals}
	p := &harness{
		now: randomrun.StartTime(), events: newEventState(), reader: newSnapshotReader(s.Seed),
		twin: NewWith(s.Partition, oracle, s.Lifetimes), core: scheduler.NewWith(s.Partition, oracle, opt),
	}
	p.twin.maxCandidates, p.twin.maxRefusals = s.MaxCandidates, cmp.Or(s.MaxRefusals, p.twin.maxRefusals)
	p.twin.maxNames, p.twin.maxAskNames = cmp.Or(s.MaxNames, p.twin.maxNames), cmp.Or(s.MaxAskNames, p.twin.maxAskNames)
	opt.Shapes, opt.RefusedNodes = s.Shapes, 1
	p.second = scheduler.NewWith(s.Partition, oracle, opt)
	return p
}

func executeOn(s randomrun.Run, p *harness) *Failure {
	for i, step := range s.Steps {
		if f := p.execute(step); f != nil {
			f.StepIndex = i
			return f
		}
	}
	return nil
}
