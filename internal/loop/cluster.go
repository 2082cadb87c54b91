package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Cluster is the loops of all partitions. Partitions share nothing, so each has its
// own goroutine; what concerns all of them comes through here.
type Cluster struct {
	opt    Options
	oracle func(partition string) scheduler.Oracle
	sink   func(partition string) Sink

	mu    sync.Mutex // guards loops, conf and ended
	loops map[string]*running
	conf  *configs.Config
	ended bool
}

type running struct {
	*Loop
	stop context.CancelFunc
	done chan struct{}
}

// NewCluster returns a Cluster without partitions. sink and oracle are asked once per
// partition; a nil oracle means no partition has one.
func NewCluster(opt Options, sink func(partition string) Sink, oracle func(partition string) scheduler.Oracle) *Cluster {
	if oracle == nil {
		oracle = func(string) scheduler.Oracle { return nil }
	}
	return &Cluster{opt: opt, oracle: oracle, sink: sink, loops: map[string]*running{}}
}

// Configure puts a whole configuration in force: partitions are created and changed.
// A partition that is in use cannot be left out. On an error the partitions named in
// it keep their old configuration.
func (c *Cluster) Configure(ctx context.Context, conf *configs.Config) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return ErrEnded
	}
	gone, err := c.leftOut(ctx, conf)
	if err != nil {
		return err
	}
	var refused []error
	for _, p := range conf.Partitions {
		if l, ok := c.loops[p.Name]; ok {
			refused = append(refused, configure(ctx, l.Loop, p))
			continue
		}
		c.start(p)
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	for _, name := range gone {
		c.loops[name].end()
		delete(c.loops, name)
	}
	c.conf = conf
	return nil
}

// leftOut lists the partitions that conf does not have, if they can go.
func (c *Cluster) leftOut(ctx context.Context, conf *configs.Config) (gone []string, err error) {
	for name, l := range c.loops {
		if slices.ContainsFunc(conf.Partitions, func(p configs.Partition) bool { return p.Name == name }) {
			continue
		}
		s, err := l.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		if s.Applications > 0 || len(s.Nodes) > 0 {
			return nil, fmt.Errorf("partition %s has %d nodes and %d applications and cannot be left out of the configuration",
				name, len(s.Nodes), s.Applications)
		}
		gone = append(gone, name)
	}
	return gone, nil
}

func configure(ctx context.Context, l *Loop, p configs.Partition) error {
	effects, err := l.Call(ctx, scheduler.UseConfig{Partition: p})
	if err != nil {
		return err
	}
	for _, e := range effects {
		if r, ok := e.(scheduler.Refused); ok {
			return fmt.Errorf("partition %s: %s", p.Name, r.Reason)
		}
	}
	return nil
}

func (c *Cluster) start(p configs.Partition) {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{New(scheduler.New(p, c.oracle(p.Name)), c.sink(p.Name), c.opt), stop, make(chan struct{})}
	c.loops[p.Name] = r
	go func() {
		defer close(r.done)
		r.Run(ctx)
	}()
}

func (r *running) end() {
	r.stop()
	<-r.done
}

// Config is the configuration in force, nil before the first.
func (c *Cluster) Config() *configs.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conf
}

// Partition finds the loop of a partition.
func (c *Cluster) Partition(name string) (*Loop, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.loops[name]
	if !ok {
		return nil, false
	}
	return l.Loop, true
}

// Partitions lists the names of the partitions, in order.
func (c *Cluster) Partitions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.loops))
	for name := range c.loops {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Wait is Loop.Wait for every partition. Nearly always nobody is behind, and then it
// costs next to nothing: peers come here after each message.
func (c *Cluster) Wait(ctx context.Context) error {
	for _, l := range c.behind() {
		if err := l.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// behind are the loops that somebody would have to wait for.
func (c *Cluster) behind() (full []*Loop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.loops {
		if l.Depth() >= l.opt.HighWater {
			full = append(full, l.Loop)
		}
	}
	return full
}

// Forget drops the nodes, applications and allocations of all partitions.
func (c *Cluster) Forget(ctx context.Context) error {
	for _, name := range c.Partitions() {
		if l, ok := c.Partition(name); ok {
			if _, err := l.Call(ctx, scheduler.Forget{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// End stops all partitions and waits until they have stopped. What they decided has
// been delivered then.
func (c *Cluster) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, l := range c.loops {
		l.end()
	}
}
