package randomrun

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Generator generates a random run. It remembers roughly what it has generated, so that most commands
// are about existing objects, without knowing whether they were accepted.
type Generator struct {
	*rand.Rand
	Conf             configs.Partition
	uniform          bool // many equal asks of one application, on a large cluster
	large            bool // large numbers of everything
	limited          bool // limits on users, groups and running applications
	preempting       bool // some asks may preempt
	contended        bool // and the cluster is so small that they must
	constrained      bool // nodes have labels and taints, and asks have constraints
	affine           bool // nodes have labels, and asks have affinity, spread and host ports
	configuredQueues int  // queues that were configured
	reloads          int
	nodePool         int                 // number of node IDs
	shapes           []resources.Amounts // none: every ask is different
	apps             []objects.AppID
	removed          []objects.AppID
	recentAsks       []*objects.Ask // last asks and recovered allocations
	askCount         int
	appCount         int           // applications so far
	nodeCount        int           // approximate number of nodes
	elapsed          time.Duration // virtual time since the start
	releases         int
}

// RandomRun returns the random run of a seed.
func RandomRun(seed uint64, steps int) Run {
	s := GenerateRun(rand.NewPCG(seed, 0x63616e6f7079), steps)
	s.Seed = seed
	return s
}

// GenerateRun returns the random run of a source of choices.
func GenerateRun(source rand.Source, steps int) Run {
	a := &Generator{Rand: rand.New(source)}
	a.uniform, a.nodePool = a.OneIn(12), Pick(a, 2, 3, 6, 6, 6, 6, 6, 6, 24, 24)
	a.large = a.OneIn(30)
	if a.large {
		a.nodePool = largeSize
	}
	a.limited, a.preempting = a.OneIn(3), a.OneIn(2)
	a.contended = a.preempting && !a.uniform && !a.large && !a.OneIn(3)
	if a.contended {
		a.nodePool = Pick(a, 1, 2, 3)
	}
	a.Conf = a.partition()
	a.constrained = independentGenerator(fmt.Sprint("with constraints ", a.nodePool,
		describePartition(a.Conf))).OneIn(constraintRuns)
	a.affine = independentGenerator(fmt.Sprint("with affinity ", a.nodePool,
		describePartition(a.Conf))).OneIn(affinityRuns)
	for range Pick(a, 0, 0, 2, 4) {
		a.shapes = append(a.shapes, a.amounts())
	}
	s := Run{
		Partition: a.Conf, Oracle: Pick(a, NoOracle, NoOracle, NoOracle, RejectSome),
		Lifetimes: lifecycle.Lifetimes{
			Completing: Pick(a, 0, 5*time.Second, 30*time.Second, 30*time.Second, 30*time.Second, 2*time.Minute, 10*time.Minute),
			MaxEnded:   Pick(a, 0, 2, 5, 1000, 1000),
			Completed:  Pick(a, 0, time.Minute, 10*time.Minute, 72*time.Hour, 72*time.Hour),
			Rejected:   Pick(a, time.Minute, 72*time.Hour),
			New: Pick(independentGenerator(fmt.Sprint("new timeout ", a.nodePool, describePartition(a.Conf))), 0, 0, 0, 0, 0,
				time.Minute),
		},
		Shapes:        Pick(a, feasibility.DefaultShapes, feasibility.DefaultShapes, 0, 1, 2, 3, 5, 70),
		MaxCandidates: Pick(a, 1<<30, 1<<30, 1, 2, 3),
	}
	for range Pick(a, 0, 3, 4, a.nodePool) {
		s.Steps = append(s.Steps, a.step(a.addNode()), a.step(a.addApplication()))
	}
	if a.large {
		for range largeSize {
			s.Steps = append(s.Steps, a.step(a.addNode()), a.step(a.addApplication()),
				a.step(scheduler.SubmitAsk{Ask: a.newAsk()}))
		}
	}
	for end := max(steps, len(s.Steps)+steps/3); len(s.Steps) < end; {
		s.Steps = append(s.Steps, a.nextStep())
	}
	s.addPriorityClasses(source)
	s.addListeningGaps(source)
	// drawn after the steps, so that the rest of a run does not depend on it
	s.MaxRefusals = Pick(&Generator{Rand: rand.New(source)}, 0, 1, 1, 2, 3)
	s.addReservations(source)
	s.addOperators(source)
	s.addOperations(source)
	s.addRefusals(source)
	s.addRunTimes()
	s.addAgeing()
	s.addFairness()
	s.addPreemption()
	s.addPercents()
	s.addFairShares()
	return s
}

// largeSize is the number of nodes, applications and perhaps queues of a large run: more than one block
// of an index holds.
const largeSize = 60

func (a *Generator) nextStep() Step {
	const (
		schedule = 24
		ask      = schedule + 30
		release  = ask + 12
		report   = release + 7
		resize   = report + 5
		nodes    = resize + 7
		apps     = nodes + 6
		foreign  = apps + 5
		config   = foreign + 2
		wake     = config + 1
	)
	n := a.IntN(wake + 1)
	switch {
	case a.nodeCount < a.nodePool/2 && a.OneIn(4):
		return a.step(a.addNode())
	case len(a.apps) < 3 && a.OneIn(4):
		return a.step(a.addApplication())
	case n < schedule:
		return a.scheduleStep()
	case n < ask:
		return a.step(a.submit(a.newAsk()))
	case n < release:
		return a.step(a.release())
	case n < report:
		return a.step(scheduler.ReportAllocation{Ask: a.reportedAsk(), Node: a.nodeID()})
	case n < resize:
		return a.step(a.submit(a.resizedAsk()))
	case n < nodes:
		return a.step(a.nodeCommand())
	case n < apps:
		return a.step(a.appCommand())
	case n < foreign:
		return a.step(a.foreign())
	case n < config:
		return a.step(scheduler.UseConfig{Partition: a.ReloadConfig()})
	case n < wake || !a.OneIn(5):
		return a.step(scheduler.Wake{})
	}
	if a.OneIn(2) {
		return a.step(scheduler.DrainPartition{}) // until the next configuration
	}
	a.recentAsks, a.apps, a.nodeCount = nil, nil, 0
	return a.step(scheduler.ResetPartition{})
}

// scheduleStep returns a Schedule step, sometimes a long time after the step before, when applications have ramped up
// without another event.
func (a *Generator) scheduleStep() Step {
	b := a.step(nil)
	if a.OneIn(10) {
		a.elapsed += 5 * time.Minute
		b.After += 5 * time.Minute
	}
	b.Budget = Pick(a, 0, 1, 1, 2, 5, 20)
	return b
}

// step adds a step some time, mostly little, after the last.
func (a *Generator) step(cmd scheduler.Command) Step {
	after := Pick(a, 0, time.Nanosecond, 700*time.Millisecond, time.Second, 5*time.Second)
	if a.OneIn(80) {
		after = Pick(a, time.Minute, 5*time.Minute-time.Second, 5*time.Minute, 7*time.Minute)
	}
	a.elapsed += after
	return Step{After: after, Command: cmd}
}

// OneIn reports true once in n times.
func (a *Generator) OneIn(n int) bool { return a.IntN(n) == 0 }

// Pick returns one of several values.
func Pick[T any](a *Generator, from ...T) T { return from[a.IntN(len(from))] }
