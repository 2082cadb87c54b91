package loop

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Cluster holds the loops of all partitions. Partitions share nothing, so each has its own
// goroutine; operations on all of them are methods of Cluster.
type Cluster struct {
	opt  Options
	sink func(partition string) Sink

	ctx    context.Context // ends with the Cluster
	cancel context.CancelFunc

	// holds a token while partitions are created, reconfigured or removed; acquired before mu
	partitionsLock chan struct{}
	removing       sync.WaitGroup // counts removed loops until they have ended

	mu           sync.Mutex // guards the fields below; not held while waiting for a loop or a Sink
	loops        map[string]*partitionLoop
	removed      map[string]*partitionLoop // partitions that were removed; their Sinks may still be busy
	conf         *configs.Config
	mode         Mode // of the partitions
	notListening bool // the RM does not get decisions
}

type partitionLoop struct {
	*Loop
	stop     context.CancelFunc
	done     chan struct{}
	removals sync.WaitGroup // counts goroutines of removeIfDrained; none starts after done
}

// NewCluster returns a Cluster without partitions. sink and oracle are called once per partition;
// a nil oracle means that no partition has one. Reset changes oracle and opt.SyncDelivery.
func NewCluster(opt Options, sink func(partition string) Sink,
	oracle func(partition string) *objects.Oracle) *Cluster {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	c := &Cluster{opt: opt, mode: Mode{Sync: opt.SyncDelivery, Oracle: oracle}, sink: sink,
		loops: map[string]*partitionLoop{}, removed: map[string]*partitionLoop{}}
	c.partitionsLock = make(chan struct{}, 1)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// lockPartitions acquires partitionsLock. It is not a mutex, because the holder may wait for a
// blocked partition: the wait ends with ctx.
func (c *Cluster) lockPartitions(ctx context.Context) error {
	select {
	case c.partitionsLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cluster) unlockPartitions() { <-c.partitionsLock }

// startPartition runs a new partition (CFG-110). A removed partition of the same name ends first,
// so that its effects are delivered before. The caller must hold partitionsLock.
func (c *Cluster) startPartition(p configs.Partition) {
	ctx, stop := context.WithCancel(context.Background())
	c.mu.Lock()
	opt, mode := c.opt, c.mode
	c.mu.Unlock()
	opt.SyncDelivery = mode.Sync
	core := scheduler.NewWith(p, nil, opt.core())
	l := New(core, c.sink(p.Name), opt)
	if c.opt.Recorder != nil {
		l.recorder = c.opt.Recorder(p.Name, core, opt.core())
	}
	core.SetOracle(l.recordedOracle(mode.oracleOf(p.Name)))
	if l.recorder != nil {
		l.recorder.Begin()
	}
	if c.opt.DecisionMeter != nil {
		l.onDecided = c.opt.DecisionMeter(p.Name)
	}
	if c.opt.OnRecovered != nil {
		l.onRecovered = func(r Recovery) { c.opt.OnRecovered(p.Name, r) }
	}
	r := &partitionLoop{Loop: l, stop: stop, done: make(chan struct{})}
	l.onDrained = func() { r.removals.Go(func() { c.removeIfDrained(p.Name, r) }) }
	c.mu.Lock()
	previous := c.removed[p.Name]
	c.loops[p.Name] = r
	if c.opt.FirstCommands != nil {
		r.Send(c.opt.FirstCommands(p.Name)...)
	}
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

// removeIfDrained removes a partition that reported to be drained, if it still is.
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

// removePartition removes a partition (CFG-112). Its last effects are delivered asynchronously, so
// that a slow Sink delays nothing else; commands in its mailbox are applied, and later calls of
// Send fail. The caller must hold partitionsLock, and the partition must be drained.
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

// SetListening sets whether the RM gets the decisions of the partitions, including those created
// later; initially it does (RMI-18). It does not block.
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

// Config is the configuration in force; nil before the first.
func (c *Cluster) Config() *configs.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conf
}

// Partition returns the loop of a partition (CFG-105).
func (c *Cluster) Partition(name string) (*Loop, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.loops[name]
	if !ok {
		return nil, false
	}
	return l.Loop, true
}

// Partitions returns the names of the partitions, sorted.
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

// Wait is Loop.Wait for every partition. It is called after each message of a stream, and is
// cheap while no mailbox is full.
func (c *Cluster) Wait(ctx context.Context) error {
	for _, l := range c.fullLoops() {
		if err := l.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fullLoops are the loops for which Wait would block.
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

// End stops all partitions and waits until they have stopped and their effects are delivered
// (RMI-67).
func (c *Cluster) End() {
	c.cancel() // first: the holder of partitionsLock may be waiting for a partition
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
