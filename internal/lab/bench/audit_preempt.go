package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/internal/testing/twin"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// auditedPreemptors bounds the preemptors of an audit.
const auditedPreemptors = 60

// withFewPreemptors returns a workload with few preemptors for which there are still enough victims: each
// node has as many allocations, and there are fewer nodes.
func withFewPreemptors(s workload.Spec, perNode int) workload.Spec {
	perNode = min(perNode, s.Asks)
	s.Nodes = max(min(s.Nodes, auditedNodes, s.Asks/perNode), 1)
	s.Asks = perNode * s.Nodes
	s.Shapes, s.Priorities = min(s.Shapes, s.Asks), min(s.Priorities, s.Asks)
	s.Victims = min(s.Victims, max(perNode/2, 1))
	s.Preemptors = max(min(s.Preemptors, auditedPreemptors, s.Asks/s.Victims/2), 1)
	s.PreemptorSizes, s.AtOnce = min(s.PreemptorSizes, s.Preemptors), min(s.AtOnce, s.Preemptors)
	return s
}

// auditPreempting runs preemption in a decider and in the naive twin, and compares their effects. It
// fails when the numbers of victims or of placed preemptors are not those of the workload.
func auditPreempting(s *stream, d decider, r *result) error {
	m := &twinComparison{decider: d, twin: twin.NewWith(s.partition, nil, *neverCompleting())}
	p, err := loadPreempting(s, m)
	if err != nil {
		return err
	}
	if err := p.runTo(s.spec.Preemptors, measure.NewHistogram(), measure.NewHistogram()); err != nil &&
		len(m.violations) == 0 {
		return err // an earlier error explains the others
	}
	r.sample["audited"] = float64(m.checked)
	r.sample["auditViolations"] = float64(len(m.violations))
	if books, ok := d.(interface{ Check() error }); ok {
		return books.Check()
	}
	return nil
}

// twinComparison is a decider whose effects are compared with those of the twin, until the first
// difference: the states differ from then on.
type twinComparison struct {
	decider
	twin       *twin.Twin
	checked    int      // steps with decisions
	violations []string // at most one line: the first difference
}

func (m *twinComparison) Step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	got := m.decider.Step(now, cmd)
	m.compare(got, m.twin.Step(now, cmd))
	return got
}

// Schedule runs both until they have decided or are idle: they may take different numbers of rounds.
func (m *twinComparison) Schedule(now time.Time, budget int) ([]scheduler.Effect, bool) {
	got, more := nextDecision(m.decider, now, budget)
	want, _ := nextDecision(m.twin, now, budget)
	if len(got) > 0 || len(want) > 0 {
		m.checked++
	}
	m.compare(got, want)
	return got, more
}

func nextDecision(d decider, now time.Time, budget int) (effects []scheduler.Effect, more bool) {
	for more = true; more && len(effects) == 0; {
		effects, more = d.Schedule(now, budget)
	}
	return effects, more
}

func (m *twinComparison) compare(got, want []scheduler.Effect) {
	if same := slices.EqualFunc(scheduler.WithoutEvents(got), scheduler.WithoutEvents(want),
		func(a, b scheduler.Effect) bool { return a.String() == b.String() }); !same && len(m.violations) == 0 {
		m.violations = append(m.violations, fmt.Sprintf("%v, and it should have been %v", got, want))
	}
}
