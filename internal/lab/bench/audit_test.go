package bench

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// auditedSpec returns a workload with everything that orders depend on.
func auditedSpec() workload.Spec {
	s := smallSpec()
	s.AppsPerLeaf, s.Asks, s.Priorities, s.Sort, s.Saturation, s.Churn = 2, 200, 3, "fair", 2, 0.2
	return auditable(s)
}

func TestAudit_AcceptsCore(t *testing.T) {
	s := streamOf(t, auditedSpec(), 1)
	a, err := auditOf(s, newCore(s))
	assert.NilError(t, err)
	assert.Assert(t, a.checked >= 100, "only %d decisions", a.checked)
	assert.DeepEqual(t, a.violations, []string(nil))
}

// stoppingCore decides nothing after some decisions.
type stoppingCore struct {
	*scheduler.Core
	left int
}

func (l *stoppingCore) Schedule(now time.Time, budget int) ([]scheduler.Effect, bool) {
	l.left--
	if l.left < 0 {
		return nil, false
	}
	return l.Core.Schedule(now, budget)
}

// Faults are planted in what the decider believes: it decides rightly, but by other rules.
func TestAudit_FindsWrongDecisions(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(s *stream) decider
		want  string
	}{
		{"nodes in the opposite order", func(s *stream) decider {
			other := *s
			other.partition.NodeSortPolicy.Sort = policies.NodeSortBinPacking
			return newCore(&other)
		}, "and the first in order was ask"},
		{"applications in another order", func(s *stream) decider {
			spec := s.spec
			spec.Sort = "fifo"
			other := streamOf(t, spec, s.seed)
			return newCore(other)
		}, "and the first in order was ask"},
		{"a quota that is not seen", func(s *stream) decider {
			other := *s
			other.partition.Root.Children = append(other.partition.Root.Children[:0:0], other.partition.Root.Children...)
			return newCore(streamOf(t, func() workload.Spec { spec := s.spec; spec.Bound = 0; return spec }(), s.seed))
		}, "and no ask may be placed"},
		{"deciding that stops too early", func(s *stream) decider {
			return &stoppingCore{newCore(s), 10}
		}, "nothing was decided, and ask"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := auditedSpec()
			if strings.Contains(c.name, "quota") {
				spec.Bound, spec.Saturation, spec.Churn = 1, 0.5, 0
			}
			s := streamOf(t, spec, 1)
			a, err := auditOf(s, c.plant(s))
			assert.NilError(t, err)
			assert.Assert(t, len(a.violations) > 0, "%d decisions were checked", a.checked)
			assert.Assert(t, strings.Contains(strings.Join(a.violations, "\n"), c.want), "%s", strings.Join(a.violations, "\n"))
			r := newResult()
			assert.NilError(t, measureAudit(s, c.plant(s), r))
			assert.Equal(t, r.sample["auditViolations"], float64(len(a.violations)))
		})
	}
}

func TestAuditable_IsSmall(t *testing.T) {
	for _, p := range suites(Full, Trace{}) {
		for _, c := range p.cells {
			if c.measure != Fill && c.measure != Churn && c.measure != Preempt {
				continue
			}
			s := auditable(c.spec)
			assert.NilError(t, s.Check(), "%s %s", p.Name, c.name)
			_, leaves := s.Queues()
			assert.Assert(t, leaves <= auditedLeaves && s.Asks <= auditedAsks && s.Nodes <= auditedNodes, "%s %s", p.Name,
				c.name)
			assert.Equal(t, s.Shapes == s.Asks, c.spec.Shapes == c.spec.Asks, "%s %s", p.Name, c.name)
			assert.Equal(t, s.Sort+s.NodeSort, c.spec.Sort+c.spec.NodeSort)
		}
	}
}
