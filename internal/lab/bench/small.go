package bench

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// Bounds of a small workload: the naive twin sorts the whole tree and tries every node for each decision.
const (
	smallLeaves     = 40
	smallApps       = 80
	smallPerNode    = 15 // asks for each node at least
	smallLevels     = 12
	smallChurn      = 0.25
	smallPreemptors = 60
)

// SmallWorkloads returns, by suite and cell, the first workload of every line of the suites that measure the core, with
// so many asks at most. The others of a line differ only in size.
func SmallWorkloads(asks int) map[string]workload.Spec {
	all, lines := map[string]workload.Spec{}, map[string]bool{}
	for _, p := range suites(Full, Trace{}) {
		for _, c := range p.cells {
			line := p.Name + " " + c.line
			if c.spec.Via == workload.ViaCore && (c.measure == Fill || c.measure == Churn || c.measure == Preempt) &&
				!lines[line] {
				lines[line] = true
				all[p.Name+" "+c.name] = small(c.spec, asks)
			}
		}
	}
	return all
}

// small returns a workload of the same kind within the bounds.
func small(s workload.Spec, asks int) workload.Spec {
	s.Depth = min(s.Depth, smallLevels)
	for _, leaves := s.Queues(); leaves > smallLeaves; _, leaves = s.Queues() {
		if s.Fanout > 2 && (s.Depth == 1 || s.Fanout > s.Depth) {
			s.Fanout--
		} else {
			s.Depth--
		}
	}
	_, leaves := s.Queues()
	s.AppsPerLeaf = min(s.AppsPerLeaf, max(smallApps/leaves, 1))
	unlike := s.Shapes == s.Asks
	perNode, nodes := max(s.Asks/s.Nodes, 1), max(asks/smallPerNode, 1)
	s.Asks = min(s.Asks, asks)
	s.Shapes = min(s.Shapes, max(s.Asks-1, 1))
	if unlike {
		s.Shapes = s.Asks
	}
	s.Priorities = min(s.Priorities, s.Asks)
	if s.Preemptors > 0 {
		s = withFewPreemptors(s, perNode, nodes)
	}
	// one for each node at most, and all are compared with all
	s.Nodes = min(s.Nodes, nodes)
	if s.Constraint != "" {
		s.Asks = min(s.Asks, s.Nodes)
		s.Shapes, s.Priorities, s.Kinds = min(s.Shapes, s.Asks), min(s.Priorities, s.Asks), min(s.Kinds, max(s.Asks/4, 1))
	}
	s.Churn, s.Rate, s.Via = min(s.Churn, smallChurn), 0, workload.ViaCore
	return s
}

// withFewPreemptors returns a workload with few preemptors for which there are still enough victims: each
// node has as many allocations, and there are fewer nodes.
func withFewPreemptors(s workload.Spec, perNode, nodes int) workload.Spec {
	perNode = min(perNode, s.Asks)
	s.Nodes = max(min(s.Nodes, nodes, s.Asks/perNode), 1)
	s.Asks = perNode * s.Nodes
	s.Shapes, s.Priorities = min(s.Shapes, s.Asks), min(s.Priorities, s.Asks)
	s.Victims = min(s.Victims, max(perNode/2, 1))
	s.Preemptors = max(min(s.Preemptors, smallPreemptors, s.Asks/s.Victims/2), 1)
	s.PreemptorSizes, s.AtOnce = min(s.PreemptorSizes, s.Preemptors), min(s.AtOnce, s.Preemptors)
	return s
}

// Play fills a new cluster with the asks of a workload, one decision at a time, and lets allocations end or preemptors
// come as the workload says. start makes what decides, for the configuration and the lifetimes of the workload. The
// error says what the workload does not allow, such as a rejected ask or a preemptor that is not placed.
func Play(spec workload.Spec, seed uint64, start func(configs.Partition, lifecycle.Lifetimes) Decider) error {
	s, err := newStream(spec, seed)
	if err != nil {
		return err
	}
	d := start(s.partition, *neverCompleting())
	if spec.Preemptors > 0 {
		p, err := loadPreempting(s, d)
		if err != nil {
			return err
		}
		return p.runTo(spec.Preemptors, measure.NewHistogram(), measure.NewHistogram())
	}
	c := coreChurn{driver: newDriver(d), rng: s.rng(seedReleases)}
	if err := c.load(s); err != nil {
		return err
	}
	c.fill(&c.running, nil)
	if len(c.running) == 0 {
		return errors.New("nothing could be placed")
	}
	for i := s.spec.Asks; i < len(s.draws); i++ {
		c.nextAsks = append(c.nextAsks, s.submit(i))
	}
	if err := c.releaseAndDecide(len(c.nextAsks), measure.NewHistogram(), measure.NewHistogram()); err != nil {
		return fmt.Errorf("allocations that end: %w", err)
	}
	return nil
}
