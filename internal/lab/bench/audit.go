package bench

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/testing/twin"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Bounds of an audited workload: each decision sorts the whole tree and tries every node.
const (
	auditedLeaves = 40
	auditedApps   = 80
	auditedAsks   = 600
	auditedNodes  = 40
	auditedLevels = 12
	auditedChurn  = 0.25
)

// auditable returns a workload of the same kind within the bounds of an audit.
func auditable(s workload.Spec) workload.Spec {
	s.Depth = min(s.Depth, auditedLevels)
	for _, leaves := s.Queues(); leaves > auditedLeaves; _, leaves = s.Queues() {
		if s.Fanout > 2 && (s.Depth == 1 || s.Fanout > s.Depth) {
			s.Fanout--
		} else {
			s.Depth--
		}
	}
	_, leaves := s.Queues()
	s.AppsPerLeaf = min(s.AppsPerLeaf, max(auditedApps/leaves, 1))
	unlike := s.Shapes == s.Asks
	perNode := max(s.Asks/s.Nodes, 1)
	s.Asks = min(s.Asks, auditedAsks)
	s.Shapes = min(s.Shapes, max(s.Asks-1, 1))
	if unlike {
		s.Shapes = s.Asks
	}
	s.Priorities = min(s.Priorities, s.Asks)
	if s.Preemptors > 0 {
		s = withFewPreemptors(s, perNode)
	}
	// one for each node at most, and all are compared with all
	s.Nodes = min(s.Nodes, auditedNodes)
	if s.Constraint != "" {
		s.Asks = min(s.Asks, s.Nodes)
		s.Shapes, s.Priorities, s.Kinds = min(s.Shapes, s.Asks), min(s.Priorities, s.Asks), min(s.Kinds, max(s.Asks/4, 1))
	}
	s.Churn, s.Rate, s.Via = min(s.Churn, auditedChurn), 0, workload.ViaCore
	return s
}

// auditor is a second scheduler that sorts everything for each decision. It applies the decisions of
// the first, and checks whether it would have made them.
type auditor struct {
	*driver
	reference  *driver
	twin       *twin.Twin
	checked    int
	violations []string // a line for each decision that was not the first in order
}

// measureAudit runs a workload and checks the order of every decision. The error is about the workload;
// wrong decisions are counted.
func measureAudit(s *stream, d decider, r *result) error {
	a, err := auditOf(s, d)
	if err != nil {
		return err
	}
	r.sample["audited"] = float64(a.checked)
	r.sample["auditViolations"] = float64(len(a.violations))
	return nil
}

func auditOf(s *stream, d decider) (*auditor, error) {
	reference := twin.NewWith(s.partition, nil, *neverCompleting())
	a := &auditor{driver: newDriver(d), reference: newDriver(reference), twin: reference}
	if err := errors.Join(a.load(s), a.reference.load(s)); err != nil {
		return nil, err
	}
	var running placements
	a.decide(&running)
	rng := s.rng(seedReleases)
	for next := s.spec.Asks; next < len(s.draws) && len(running) > 0; next++ {
		c := coreChurn{running: running, rng: rng}
		x := c.takeRunning()
		running = c.running
		release := scheduler.Release{App: x.App, Key: x.Key, Type: scheduler.StoppedByRM}
		for _, cmd := range []scheduler.Command{release, s.submit(next)} {
			if err := errors.Join(a.apply(cmd), a.reference.apply(cmd)); err != nil {
				return nil, err
			}
			a.decide(&running)
		}
	}
	return a, nil
}

// decide checks decisions until none is left, and also that none should be left.
func (a *auditor) decide(p *placements) {
	for {
		want, where := a.twin.Next(a.reference.now)
		effects, more := a.Schedule(a.now, 1)
		p.collect(effects)
		if !more {
			if want != nil {
				a.checked++
				a.violations = append(a.violations,
					fmt.Sprintf("nothing was decided, and ask %s should go to node %s", want.Key, where))
			}
			return
		}
		for _, e := range effects {
			x, ok := e.(scheduler.Allocated)
			if !ok {
				continue
			}
			a.checked++
			switch {
			case want == nil:
				a.violations = append(a.violations, fmt.Sprintf("ask %s got node %s, and no ask may be placed", x.Ask.Key, x.Node))
			case want.Key != x.Ask.Key || where != x.Node:
				a.violations = append(a.violations, fmt.Sprintf("ask %s got node %s, and the first in order was ask %s on node %s",
					x.Ask.Key, x.Node, want.Key, where))
			}
			a.reference.Step(a.reference.now, scheduler.ReportAllocation{Ask: x.Ask, Node: x.Node})
		}
	}
}
