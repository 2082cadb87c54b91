package demo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// epoch is the virtual time at which a demo begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// decisionsAtOnce bounds the decisions of one call of the scheduler.
const decisionsAtOnce = 1000

// cluster is a scheduler in virtual time together with its resource manager, which keeps its own account of
// asks and allocations.
type cluster struct {
	core *scheduler.Core
	now  time.Time
	took time.Duration // real time that the scheduler has used

	pending map[objects.AllocationKey]*objects.Ask
	running map[objects.AllocationKey]scheduler.Binding
	victims []scheduler.Binding // in the order of preemption
	counts  Totals              // without Pending and AllocatedResources, which totals adds
}

// newCluster returns an empty cluster with the queues of a queues.yaml.
func newCluster(config string) (*cluster, error) {
	conf, problems := queuesyaml.Load([]byte(config))
	if conf == nil {
		return nil, fmt.Errorf("the configuration of the demo: %s", problems.Error())
	}
	opt := objects.DefaultOptions()
	opt.Lifetimes.Completing = math.MaxInt64 // an application must not complete before its next ask is submitted
	return &cluster{
		core: scheduler.NewWith(conf.Partitions[0], nil, opt), now: epoch,
		pending: map[objects.AllocationKey]*objects.Ask{}, running: map[objects.AllocationKey]scheduler.Binding{},
	}, nil
}

// add registers nodes and submits applications.
func (c *cluster) add(nodes []scheduler.AddNode, apps []scheduler.AddApplication) error {
	c.counts.Nodes, c.counts.Applications = c.counts.Nodes+len(nodes), c.counts.Applications+len(apps)
	for _, n := range nodes {
		if err := c.apply(n); err != nil {
			return err
		}
	}
	for _, a := range apps {
		if err := c.apply(a); err != nil {
			return err
		}
	}
	return nil
}

// submit submits asks, and then lets the scheduler decide: it knows all of them before the first decision.
func (c *cluster) submit(asks []*objects.Ask) error {
	c.counts.Asks += len(asks)
	for _, ask := range asks {
		c.pending[ask.Key] = ask
		if err := c.apply(scheduler.SubmitAsk{Ask: ask}); err != nil {
			return err
		}
	}
	return c.schedule()
}

// end ends an allocation.
func (c *cluster) end(key objects.AllocationKey) error {
	return c.apply(scheduler.Release{App: c.running[key].Ask.App, Key: key, Type: scheduler.StoppedByRM})
}

// confirm confirms that a victim has ended, and then lets the scheduler decide: the resources are free.
func (c *cluster) confirm(victim scheduler.Binding) error {
	key := victim.Ask.Key
	delete(c.running, key)
	err := c.apply(scheduler.Release{App: victim.Ask.App, Key: key, Type: scheduler.PreemptedByScheduler})
	return errors.Join(err, c.schedule())
}

// apply applies a command.
func (c *cluster) apply(cmd scheduler.Command) error {
	start := time.Now()
	effects := c.core.Step(c.now, cmd)
	c.took += time.Since(start)
	return c.record(effects)
}

// schedule lets the scheduler decide until there is nothing left to decide.
func (c *cluster) schedule() error {
	for more := true; more; {
		start := time.Now()
		var effects []scheduler.Effect
		effects, more = c.core.Schedule(c.now, decisionsAtOnce)
		c.took += time.Since(start)
		if err := c.record(effects); err != nil {
			return err
		}
	}
	return nil
}

// record updates the account of the resource manager. An effect that contradicts it is an error.
func (c *cluster) record(effects []scheduler.Effect) error {
	for _, effect := range effects {
		switch e := effect.(type) {
		case scheduler.Allocated:
			if c.pending[e.Ask.Key] == nil {
				return fmt.Errorf("%s was placed on node %s, and is not pending", e.Ask.Key, e.Node)
			}
			delete(c.pending, e.Ask.Key)
			c.running[e.Ask.Key] = *e.Binding
			c.counts.Allocated++
		case scheduler.Released:
			if err := c.released(e); err != nil {
				return err
			}
		case scheduler.AskRejected:
			delete(c.pending, e.Key)
			c.counts.Rejected++
		case scheduler.NodeRejected, scheduler.ApplicationRejected, scheduler.Refused:
			return fmt.Errorf("the scheduler has %s", effect)
		}
	}
	return nil
}

func (c *cluster) released(e scheduler.Released) error {
	x, runs := c.running[e.Key]
	switch {
	case !runs:
		return fmt.Errorf("%s was released, and it does not run", e.Key)
	case e.Type == scheduler.PreemptedByScheduler: // it holds its resources until the end is confirmed
		c.victims = append(c.victims, x)
		c.counts.Preempted++
	default:
		delete(c.running, e.Key)
		c.counts.Released++
	}
	return nil
}

// totals returns the totals of the account.
func (c *cluster) totals() Totals {
	t := c.counts
	t.Pending = len(c.pending)
	var allocated resources.Amounts
	for _, x := range c.running {
		allocated = allocated.Add(x.Ask.Amounts)
	}
	t.AllocatedResources = allocated.Map()
	return t
}

// explainTopPending explains the pending ask with the highest priority, without offsets, then with the lowest key;
// nil: none is pending.
func (c *cluster) explainTopPending() *scheduler.Explanation {
	if len(c.pending) == 0 {
		return nil
	}
	top := slices.MinFunc(slices.Collect(maps.Values(c.pending)), func(a, b *objects.Ask) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Key, b.Key))
	})
	return c.core.Explain(top.Key, c.now)
}

// check verifies the invariants after schedule: the accounting of the scheduler is consistent and agrees with that
// of the resource manager, and CheckIdle finds nothing.
func (c *cluster) check() error {
	if err := c.core.Check(); err != nil {
		return fmt.Errorf("the accounting of the scheduler: %w", err)
	}
	s := c.core.Snapshot(c.now)
	if s.Asks != len(c.pending) || s.Allocations != len(c.running) {
		return fmt.Errorf("the scheduler counts %d asks and %d allocations, the resource manager %d and %d", s.Asks,
			s.Allocations, len(c.pending), len(c.running))
	}
	for n := range s.Nodes.All() {
		for x := range n.Allocations.All() {
			if c.running[x.Ask.Key].Node != n.ID {
				return fmt.Errorf("%s runs on node %s, and was placed on %q", x.Ask.Key, n.ID, c.running[x.Ask.Key].Node)
			}
		}
	}
	return CheckIdle(s)
}
