package loop

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Cluster is the loops of all partitions. Partitions share nothing, so each has its
// own goroutine; what concerns all of them comes through here.
type Cluster struct {
	opt    Options
	oracle func(partition string) scheduler.Oracle
	sink   func(partition string) Sink

	ctx    context.Context // ends with the Cluster
	cancel context.CancelFunc

	partitionsLock chan struct{}  // holds a token while partitions come, change or go; before mu
	removing       sync.WaitGroup // loops that were removed, until they have ended

	mu           sync.Mutex // guards the rest; nobody waits for a loop or a Sink while holding it
	loops        map[string]*partitionLoop
	removed      map[string]*partitionLoop // of partitions that went; their Sinks may still be busy
	conf         *configs.Config
	notListening bool // the RM does not hear what is decided
}

type partitionLoop struct {
	*Loop
	stop     context.CancelFunc
	done     chan struct{}
	removals sync.WaitGroup // whoever lets it go because it is drained; after done there is nobody new
}

// NewCluster returns a Cluster without partitions. sink and oracle are asked once per
// partition; a nil oracle means no partition has one.
func NewCluster(opt Options, sink func(partition string) Sink, oracle func(partition string) scheduler.Oracle) *Cluster {
	if oracle == nil {
		oracle = func(string) scheduler.Oracle { return nil }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	c := &Cluster{opt: opt, oracle: oracle, sink: sink, loops: map[string]*partitionLoop{}, removed: map[string]*partitionLoop{}}
	c.partitionsLock = make(chan struct{}, 1)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// lockPartitions waits until nobody else changes partitions. Whoever does may wait for a partition
// that does not come, so it is no mutex: waiting ends with ctx.
func (c *Cluster) lockPartitions(ctx context.Context) error {
	select {
	case c.partitionsLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cluster) unlockPartitions() { <-c.partitionsLock }

// startPartition runs a new partition. Whoever had its name before tells the rest first.
// Requires: c.changing is held.
func (c *Cluster) startPartition(p configs.Partition) {
	ctx, stop := context.WithCancel(context.Background())
	l := New(scheduler.NewWith(p, c.oracle(p.Name), c.opt.core()), c.sink(p.Name), c.opt)
	if c.opt.DecisionMeter != nil {
		l.onDecided = c.opt.DecisionMeter(p.Name)
	}
	r := &partitionLoop{Loop: l, stop: stop, done: make(chan struct{})}
	l.onDrained = func() { r.removals.Go(func() { c.removeIfDrained(p.Name, r) }) }
	c.mu.Lock()
	previous := c.removed[p.Name]
	c.loops[p.Name] = r
	if c.notListening {
		r.Send(scheduler.SetListening{})
	}
	c.mu.Unlock()
	go func() {
		defer close(r.done)
		if previous != nil {
			<-previous.done
		}
		r.Run(ctx)
	}()
}

// removeIfDrained lets a partition go that found itself empty, if it still is.
func (c *Cluster) removeIfDrained(name string, r *partitionLoop) {
	if c.lockPartitions(c.ctx) != nil {
		return
	}
	defer c.unlockPartitions()
	if now, ok := c.Partition(name); !ok || now != r.Loop {
		return
	}
	empty, err := ask(c.ctx, r.Loop, r.core.Removable)
	if err == nil && empty {
		c.removePartition(name, r)
	}
}

// removePartition takes a partition out. What it has to tell is told beside, so that a slow Sink
// keeps nobody waiting; commands that are in its mailbox are answered, and whoever Sends
// later hears that it has ended. Requires: c.changing is held, and the partition is drained.
func (c *Cluster) removePartition(name string, r *partitionLoop) {
	c.mu.Lock()
	delete(c.loops, name)
	c.removed[name] = r
	c.mu.Unlock()
	r.enqueue(envelope{run: r.stop})
	c.removing.Go(func() {
		<-r.done
		r.removals.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.removed[name] == r {
			delete(c.removed, name)
		}
	})
}

// SetListening says whether the RM hears what the partitions decide, those that come included. At
// the beginning it does. It waits for no partition.
func (c *Cluster) SetListening(listening bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notListening == !listening {
		return
	}
	c.notListening = !listening
	for _, r := range c.loops {
		r.Send(scheduler.SetListening{Listening: listening})
	}
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
	for _, l := range c.fullLoops() {
		if err := l.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fullLoops are the loops that somebody would have to wait for.
func (c *Cluster) fullLoops() (full []*Loop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.loops {
		if l.isFull() {
			full = append(full, l.Loop)
		}
	}
	return full
}

// Forget drops the nodes, applications and allocations of all partitions.
func (c *Cluster) Forget(ctx context.Context) error {
	if err := c.lockPartitions(ctx); err != nil {
		return err
	}
	defer c.unlockPartitions()
	for _, name := range c.Partitions() {
		if l, ok := c.Partition(name); ok {
			if _, err := l.Call(ctx, scheduler.ResetPartition{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// End stops all partitions and waits until they have stopped. What they decided has
// been delivered then.
func (c *Cluster) End() {
	c.cancel() // first: whoever changes something may be waiting for a partition
	c.partitionsLock <- struct{}{}
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.loops))
	c.mu.Unlock()
	for _, r := range all {
		r.stop()
		<-r.done
	}
	c.unlockPartitions()
	for _, r := range all {
		r.removals.Wait()
	}
	c.removing.Wait()
}
