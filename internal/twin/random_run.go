package twin

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Run is the configuration and the steps of a random run.
type Run struct {
	Seed      uint64
	Partition configs.Partition
	Oracle    OracleKind
	Lifetimes lifecycle.Lifetimes
	Shapes    int // shapes that the second core distinguishes

	MaxNames, MaxAskNames int // bounds of resource names, and of those only asks have; 0: the default
	MaxRefusals           int // bound of rejected asks per group; 0: the default
	MaxCandidates         int // bound of compared nodes per preemption; above 0
	Steps                 []Step
}

// Step is a step of a run: a command, or a call of Schedule.
type Step struct {
	After   time.Duration     // time since the step before
	Command scheduler.Command // nil: Schedule
	Budget  int
}

// Failure is the first step at which a Core and its twin differ, with the differences.
type Failure struct {
	StepIndex  int
	FailedStep Step
	Core       []scheduler.Effect
	Twin       []scheduler.Effect
	Problem    string
}

func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d: %s\n%s\n", f.StepIndex, f.FailedStep, f.Problem)
	printEffects := func(name string, effects []scheduler.Effect) {
		fmt.Fprintf(&b, "%s said:\n", name)
		for _, e := range effects {
			fmt.Fprintf(&b, "\t%s\n", effectSummary(e))
		}
	}
	printEffects("core", f.Core)
	printEffects("twin", f.Twin)
	return b.String()
}

// startTime is the start of all runs.
func startTime() time.Time { return time.Unix(1_700_000_000, 0).UTC() }

// Execute runs the steps on a Core, on its twin and on a second Core, and compares them after every
// step. nil: they agree. The second Core may have another bound of shapes, which must have no effect,
// and is not audited, because an audit might refresh its state.
func (s Run) Execute() *Failure { return s.executeOn(s.newHarness()) }

// newHarness is the state at the start of a run.
func (s Run) newHarness() *harness {
	oracle := s.Oracle.oracle()
	opt := objects.Options{Shapes: feasibility.DefaultShapes, Lifetimes: s.Lifetimes, Evaluations: 1 << 30, Candidates: s.MaxCandidates, Names: s.MaxNames, AskNames: s.MaxAskNames, Refusals: s.MaxRefusals}
	p := &harness{
		now: startTime(), events: newEventState(), reader: newSnapshotReader(s.Seed), twin: NewWith(s.Partition, oracle, s.Lifetimes), core: scheduler.NewWith(s.Partition, oracle, opt),
	}
	p.twin.maxCandidates, p.twin.maxRefusals = s.MaxCandidates, cmp.Or(s.MaxRefusals, p.twin.maxRefusals)
	p.twin.maxNames, p.twin.maxAskNames = cmp.Or(s.MaxNames, p.twin.maxNames), cmp.Or(s.MaxAskNames, p.twin.maxAskNames)
	opt.Shapes = s.Shapes
	p.second = scheduler.NewWith(s.Partition, oracle, opt)
	return p
}

func (s Run) executeOn(p *harness) *Failure {
	for i, step := range s.Steps {
		if f := p.execute(step); f != nil {
			f.StepIndex = i
			return f
		}
	}
	return nil
}
