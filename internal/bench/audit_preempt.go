package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/twin"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// auditedPreemptors is the most that preempt in an audit.
const auditedPreemptors = 60

// withFewPreemptors is a workload of so few asks that everybody finds their victims in it
// still: as many run on each node as before, on fewer nodes.
func (s Spec) withFewPreemptors(perNode int) Spec {
	perNode = min(perNode, s.Asks)
	s.Nodes = max(min(s.Nodes, auditedNodes, s.Asks/perNode), 1)
	s.Asks = perNode * s.Nodes
	s.Shapes, s.Priorities = min(s.Shapes, s.Asks), min(s.Priorities, s.Asks)
	s.Victims = min(s.Victims, max(perNode/2, 1))
	s.Preemptors = max(min(s.Preemptors, auditedPreemptors, s.Asks/s.Victims/2), 1)
	s.PreemptorSizes, s.AtOnce = min(s.PreemptorSizes, s.Preemptors), min(s.AtOnce, s.Preemptors)
	return s
}

// auditPreempting lets asks preempt in a decider and in the naive twin, and compares what
// they say. It fails when a workload does not end as it should, by who is told to leave or
// who gets a node.
func auditPreempting(s *stream, d decider, r *result) error {
	m := &twinComparison{decider: d, twin: twin.NewWith(s.partition, nil, *neverCompleting())}
	p, err := loadPreempting(s, m)
	if err != nil {
		return err
	}
	if err := p.runTo(s.spec.Preemptors, newHistogram(), newHistogram()); err != nil && len(m.violations) == 0 {
		return err // what went wrong before it explains it otherwise
	}
	r.sample["audited"] = float64(m.checked)
	r.sample["auditViolations"] = float64(len(m.violations))
	if books, ok := d.(interface{ Check() error }); ok {
		return books.Check()
	}
	return nil
}

// twinComparison is a decider whose every answer is held against that of the twin. After the
// first difference the two live in different worlds, so nothing more is compared.
type twinComparison struct {
	decider
	twin       *twin.Twin
	checked    int      // steps in which something was decided
	violations []string // at most one line: the first difference
}

func (m *twinComparison) Step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	got := m.decider.Step(now, cmd)
	m.compare(got, m.twin.Step(now, cmd))
	return got
}

// Schedule goes on until something is decided or nothing is left: the two may take more or
// fewer rounds to find out.
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
	if same := slices.EqualFunc(scheduler.WithoutEvents(got), scheduler.WithoutEvents(want), func(a, b scheduler.Effect) bool { return a.String() == b.String() }); !same && len(m.violations) == 0 {
		m.violations = append(m.violations, fmt.Sprintf("%v, and it should have been %v", got, want))
	}
}
