package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The interfaces to the scheduler that Spec.Via names.
const (
	ViaCore      = "core"      // the core alone, called directly
	ViaInProcess = "inprocess" // api.SchedulerAPI, with a predicate call for every placement
	ViaGRPC      = "grpc"      // the gRPC service over the loopback interface, client in the same process
)

// The reasons of preemption that Spec.PreemptBy names.
const (
	ByLeaf      = "leaf"      // by priority, in its own leaf
	ByFence     = "fence"     // by priority, in the whole cluster
	ByGuarantee = "guarantee" // for the guarantee of its own queue, which has no allocations
)

// Bounds of a workload. Beyond these a single cell takes minutes, or more memory than machines have.
const (
	maxQueues = 200_000
	maxApps   = 1_000_000
	MaxAsks   = 5_000_000
	maxNodes  = 200_000
	maxTypes  = 32
	MaxTags   = 64
	maxRate   = 1_000_000
	maxLevels = 200
	maxChurn  = 1000

	maxPreemptors = 100_000
)

// MaxSafeSaturation is the saturation up to which every ask fits on a node.
const MaxSafeSaturation = 0.9

// DefaultSpec returns the workload without flags: a thousand leaves on five levels, with one application
// each, and all asks fit.
func DefaultSpec() Spec {
	return Spec{
		Depth: 5, Fanout: 4, AppsPerLeaf: 1, Asks: 50_000, Nodes: 1000, Shapes: 20, Types: 2, Priorities: 1,
		Sort: "fifo", NodeSort: "fair", Saturation: 0.8, Via: ViaCore,
		PreemptBy: ByFence, Victims: 1, PreemptorSizes: 1, AtOnce: 1,
	}
}

// Check returns an error with a line for everything that is wrong with a workload, in terms of the flags;
// nil: it is valid.
func (s Spec) Check() error {
	c := checks{}
	c.within("depth", s.Depth, 1, maxLevels)
	c.within("fanout", s.Fanout, 1, maxQueues)
	c.within("apps-per-leaf", s.AppsPerLeaf, 1, maxApps)
	c.within("asks", s.Asks, 1, MaxAsks)
	c.within("nodes", s.Nodes, 1, maxNodes)
	c.within("shapes", s.Shapes, 1, max(s.Asks, 1))
	c.within("types", s.Types, 1, maxTypes)
	c.within("priorities", s.Priorities, 1, max(s.Asks, 1))
	c.within("tags", s.Tags, 0, MaxTags)
	c.share("bound", s.Bound, 0, 1)
	c.share("churn", s.Churn, 0, maxChurn)
	c.share("saturation", s.Saturation, 0.01, 100)
	c.share("rate", s.Rate, 0, maxRate)
	c.oneOf("sort", s.Sort, "fifo", "fair", "stateaware")
	c.oneOf("node-sort", s.NodeSort, "fair", "binpacking")
	c.oneOf("via", s.Via, ViaCore, ViaInProcess, ViaGRPC)
	if s.Constraint != "" {
		c.oneOf("constraint", s.Constraint, Constraints()...)
	}
	c.within("kinds", s.Kinds, 0, max(s.Asks, 1))
	if s.Topology != "" {
		c.oneOf("topology", s.Topology, Topologies()...)
	}
	s.checkPreemptors(&c)
	if len(c.errs) > 0 {
		return errors.Join(c.errs...)
	}
	return errors.Join(s.checkSize(), s.checkPace(), s.checkPreempting())
}

// checkPreemptors checks the ranges of the preemptor flags.
func (s Spec) checkPreemptors(c *checks) {
	c.within("preemptors", s.Preemptors, 0, maxPreemptors)
	if s.Preemptors <= 0 {
		return
	}
	c.oneOf("preempt-by", s.PreemptBy, ByLeaf, ByFence, ByGuarantee)
	c.within("victims", s.Victims, 1, max(s.Asks, 1))
	c.within("preemptor-sizes", s.PreemptorSizes, 1, s.Preemptors)
	c.within("at-once", s.AtOnce, 1, s.Preemptors)
}

// checkPreempting checks that preemptors find victims, and can be measured.
func (s Spec) checkPreempting() error {
	switch {
	case s.Preemptors == 0:
		return nil
	case s.Preemptors == 1:
		return errors.New("--preemptors is 1, and must be at least 2: the first one is the warm-up")
	case s.Via != ViaCore:
		return fmt.Errorf("--preemptors are measured via %s: they cannot be measured via %s", ViaCore, s.Via)
	case s.Churn > 0 || s.Rate > 0 || s.Bound > 0:
		return errors.New("--preemptors go with neither --churn nor --rate nor --bound")
	case s.Saturation < 1:
		return fmt.Errorf("--preemptors need a full cluster: --saturation is %g, and must be at least 1", s.Saturation)
	case 2*s.Preemptors*s.Victims > s.Asks:
		return fmt.Errorf("%d --preemptors with --victims %d take more than half of %d --asks", s.Preemptors, s.Victims,
			s.Asks)
	case s.PreemptorSizes > 1 && s.Types < 2:
		return errors.New("--preemptor-sizes needs --types 2: sizes differ in memory")
	}
	return nil
}

// checkSize checks bounds on combinations of flags.
func (s Spec) checkSize() error {
	queues, leaves := s.Queues()
	switch {
	case queues > maxQueues:
		return fmt.Errorf("--depth %d with --fanout %d makes more than %d queues", s.Depth, s.Fanout, maxQueues)
	case leaves*s.AppsPerLeaf > maxApps:
		return fmt.Errorf("%d leaves with --apps-per-leaf %d make more than %d applications",
			leaves, s.AppsPerLeaf, maxApps)
	case int(s.Bound*float64(leaves)) == 0 && s.Bound > 0:
		return fmt.Errorf("--bound %g of %d leaves is less than one leaf", s.Bound, leaves)
	case s.Constraint == AntiAffinity && s.Asks > s.Nodes:
		return fmt.Errorf("--constraint %s places one ask on each node at most: %d --asks are more than %d --nodes",
			AntiAffinity, s.Asks, s.Nodes)
	case float64(s.Asks)*s.Churn > 10*MaxAsks:
		return fmt.Errorf("--churn %g of --asks %d is more than %d releases", s.Churn, s.Asks, 10*MaxAsks)
	}
	return nil
}

// checkPace checks the combination of rate and other flags.
func (s Spec) checkPace() error {
	switch {
	case s.Rate > 0 && s.Via == ViaCore:
		return errors.New("--rate needs --via inprocess or grpc: the core alone has no clock to be late by")
	case s.Rate == 0 && s.Churn > 0 && s.Via != ViaCore:
		return fmt.Errorf("--churn via %s needs a --rate at which allocations are released", s.Via)
	case s.Rate > 0 && s.Churn == 0 && s.Saturation > MaxSafeSaturation:
		return fmt.Errorf("--rate without --churn measures how long asks take that fit: --saturation is %g, and may be %g",
			s.Saturation, MaxSafeSaturation)
	case s.Rate > 0 && s.events()/s.Rate > 3600:
		return fmt.Errorf("at --rate %g this takes %.0f minutes, and may take 60", s.Rate, s.events()/s.Rate/60)
	}
	return nil
}

// events returns the number of events that are sent at a rate.
func (s Spec) events() float64 {
	if s.Churn > 0 {
		return s.Churn * float64(s.Asks)
	}
	return float64(s.Asks)
}

// Queues counts the queues below root, and the leaves among them. It stops soon after the bound.
func (s Spec) Queues() (all, leaves int) {
	leaves = 1
	for range s.Depth {
		leaves *= s.Fanout
		all += leaves
		if all > maxQueues {
			break
		}
	}
	return all, leaves
}

// FitsAll reports whether every ask is certain to be placed.
func (s Spec) FitsAll() bool { return s.Saturation <= MaxSafeSaturation && s.Bound == 0 }

type checks struct{ errs []error }

func (c *checks) note(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checks) within(flag string, n, least, most int) {
	if n < least || n > most {
		c.note("--%s is %d, and must be from %d to %d", flag, n, least, most)
	}
}

// share also refuses NaN.
func (c *checks) share(flag string, x, least, most float64) {
	if !(x >= least && x <= most) {
		c.note("--%s is %g, and must be from %g to %g", flag, x, least, most)
	}
}

func (c *checks) oneOf(flag, got string, names ...string) {
	if !slices.Contains(names, got) {
		c.note("--%s is %q, and must be one of %s", flag, got, strings.Join(names, ", "))
	}
}
