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

	over context.Context // ends with the Cluster
	end  context.CancelFunc

	changing chan struct{}  // holds a token while partitions come, change or go; before mu
	leaving  sync.WaitGroup // loops that were removed, until they have ended

	mu      sync.Mutex // guards the rest; nobody waits for a loop or a Sink while holding it
	loops   map[string]*running
	last    map[string]*running // of partitions that went; their Sinks may still be busy
	conf    *configs.Config
	unheard bool // the RM does not hear what is decided
}

type running struct {
	*Loop
	stop  context.CancelFunc
	done  chan struct{}
	reaps sync.WaitGroup // whoever lets it go because it is drained; after done there is nobody new
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
	c := &Cluster{opt: opt, oracle: oracle, sink: sink, loops: map[string]*running{}, last: map[string]*running{}}
	c.changing = make(chan struct{}, 1)
	c.over, c.end = context.WithCancel(context.Background())
	return c
}

// hold waits until nobody else changes partitions. Whoever does may wait for a partition
// that does not come, so it is no mutex: waiting ends with ctx.
func (c *Cluster) hold(ctx context.Context) error {
	select {
	case c.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cluster) release() { <-c.changing }

// start runs a new partition. Whoever had its name before tells the rest first.
// Requires: c.changing is held.
func (c *Cluster) start(p configs.Partition) {
	ctx, stop := context.WithCancel(context.Background())
	l := New(scheduler.NewWith(p, c.oracle(p.Name), c.opt.core()), c.sink(p.Name), c.opt)
	if c.opt.Meter != nil {
		l.decided = c.opt.Meter(p.Name)
	}
	r := &running{Loop: l, stop: stop, done: make(chan struct{})}
	l.drained = func() { r.reaps.Go(func() { c.reap(p.Name, r) }) }
	c.mu.Lock()
	before := c.last[p.Name]
	c.loops[p.Name] = r
	if c.unheard {
		r.Send(scheduler.SetListening{})
	}
	c.mu.Unlock()
	go func() {
		defer close(r.done)
		if before != nil {
			<-before.done
		}
		r.Run(ctx)
	}()
}

// reap lets a partition go that found itself empty, if it still is.
func (c *Cluster) reap(name string, r *running) {
	if c.hold(c.over) != nil {
		return
	}
	defer c.release()
	if now, ok := c.Partition(name); !ok || now != r.Loop {
		return
	}
	empty, err := ask(c.over, r.Loop, r.core.Drained)
	if err == nil && empty {
		c.remove(name, r)
	}
}

// remove takes a partition out. What it has to tell is told beside, so that a slow Sink
// keeps nobody waiting; commands that are in its mailbox are answered, and whoever Sends
// later hears that it has ended. Requires: c.changing is held, and the partition is drained.
func (c *Cluster) remove(name string, r *running) {
	c.mu.Lock()
	delete(c.loops, name)
	c.last[name] = r
	c.mu.Unlock()
	r.put(envelope{look: r.stop})
	c.leaving.Go(func() {
		<-r.done
		r.reaps.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.last[name] == r {
			delete(c.last, name)
		}
	})
}

// SetListening says whether the RM hears what the partitions decide, those that come included. At
// the beginning it does. It waits for no partition.
func (c *Cluster) SetListening(listening bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unheard == !listening {
		return
	}
	c.unheard = !listening
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
		if l.isFull() {
			full = append(full, l.Loop)
		}
	}
	return full
}

// Forget drops the nodes, applications and allocations of all partitions.
func (c *Cluster) Forget(ctx context.Context) error {
	if err := c.hold(ctx); err != nil {
		return err
	}
	defer c.release()
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
	c.end() // first: whoever changes something may be waiting for a partition
	c.changing <- struct{}{}
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.loops))
	c.mu.Unlock()
	for _, r := range all {
		r.stop()
		<-r.done
	}
	c.release()
	for _, r := range all {
		r.reaps.Wait()
	}
	c.leaving.Wait()
}
