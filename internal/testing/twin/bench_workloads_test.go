package twin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// comparedCore is a core whose effects are compared with those of the twin.
type comparedCore struct {
	core, twin stepper
	decisions  int
	difference string // the first; the states differ from then on
}

func (c *comparedCore) Step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	effects := c.core.Step(now, cmd)
	c.compare(effects, c.twin.Step(now, cmd))
	return effects
}

// Schedule implements bench.Decider. Both run until they have decided or are idle: they may take different numbers of
// rounds.
func (c *comparedCore) Schedule(now time.Time, budget int) (effects []scheduler.Effect, more bool) {
	decide := func(s stepper) (effects []scheduler.Effect, more bool) {
		for more = true; more && len(effects) == 0; {
			effects, more = s.Schedule(now, budget)
		}
		return effects, more
	}
	effects, more = decide(c.core)
	want, _ := decide(c.twin)
	if len(effects) > 0 {
		c.decisions++
	}
	c.compare(effects, want)
	return effects, more
}

func (c *comparedCore) compare(effects, want []scheduler.Effect) {
	got, should := effectSummaries(scheduler.WithoutEvents(effects)), effectSummaries(scheduler.WithoutEvents(want))
	if c.difference == "" && !slices.Equal(got, should) {
		c.difference = fmt.Sprintf("%v, and it should have been %v", got, should)
	}
}

// play plays a workload on twin and core. change plants a fault in what the core believes; nil: none.
func play(spec workload.Spec, change func(*configs.Partition, *objects.Options)) (*comparedCore, error) {
	var c *comparedCore
	var core *scheduler.Core
	err := bench.Play(spec, 1, func(p configs.Partition, keep lifecycle.Lifetimes) bench.Decider {
		opt := objects.DefaultOptions()
		opt.Lifetimes = keep
		c = &comparedCore{twin: NewWith(p, nil, keep)}
		if change != nil {
			change(&p, &opt)
		}
		core = scheduler.NewWith(p, nil, opt)
		c.core = core
		return c
	})
	if err != nil {
		return c, err
	}
	return c, core.Check()
}

// Core and twin agree about a small form of each workload of which the benchmark measures the core.
func TestBenchWorkloads(t *testing.T) {
	asks := 600
	if !testscale.Full() {
		asks = 90
	}
	all := bench.SmallWorkloads(asks)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := play(all[name], nil)
			assert.NilError(t, err)
			assert.Equal(t, c.difference, "")
			assert.Assert(t, c.decisions >= min(all[name].Asks, 40), "%d decisions", c.decisions)
		})
	}
}

// A core that decides rightly, but by other rules, is found.
func TestBenchWorkloads_WrongDecisionsAreFound(t *testing.T) {
	fair := workload.Spec{Depth: 2, Fanout: 3, AppsPerLeaf: 2, Asks: 200, Nodes: 20, Types: 2, Shapes: 8, Priorities: 3,
		Sort: "fair", NodeSort: "fair", Saturation: 2, Churn: 0.2, Via: workload.ViaCore}
	bound := fair
	bound.Bound, bound.Saturation, bound.Churn = 1, 0.5, 0
	preempting := fair
	preempting.Shapes, preempting.Saturation, preempting.Churn, preempting.Nodes = 1, 1, 0, 50
	preempting.Preemptors, preempting.PreemptBy, preempting.Victims, preempting.AtOnce = 20, workload.ByFence, 3, 5
	preempting.PreemptorSizes = 1
	everyLeaf := func(q *configs.Queue, change func(*configs.Queue)) {
		var below func(q *configs.Queue)
		below = func(q *configs.Queue) {
			change(q)
			q.Children = slices.Clone(q.Children)
			for i := range q.Children {
				below(&q.Children[i])
			}
		}
		below(q)
	}
	for _, c := range []struct {
		name   string
		spec   workload.Spec
		change func(*configs.Partition, *objects.Options)
	}{
		{"nodes in the opposite order", fair, func(p *configs.Partition, _ *objects.Options) {
			p.NodeSortPolicy.Sort = policies.NodeSortBinPacking
		}},
		{"applications in another order", fair, func(p *configs.Partition, _ *objects.Options) {
			everyLeaf(&p.Root, func(q *configs.Queue) { q.AppSort = policies.FIFO })
		}},
		{"a quota that is not seen", bound, func(p *configs.Partition, _ *objects.Options) {
			everyLeaf(&p.Root, func(q *configs.Queue) { q.Max = configs.Queue{}.Max })
		}},
		{"victims on the first node instead of the best", preempting, func(_ *configs.Partition, opt *objects.Options) {
			opt.Candidates = 1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			right, err := play(c.spec, nil)
			assert.NilError(t, err)
			assert.Equal(t, right.difference, "")
			wrong, _ := play(c.spec, c.change)
			assert.Assert(t, strings.Contains(wrong.difference, "and it should have been"), "%d decisions", wrong.decisions)
		})
	}
}
