package loop

import (
	"context"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Mode says how decisions reach a resource manager, and whether it is asked for predicates. A linked
// shim has Sync and an Oracle; a resource manager with streams has neither, which is the zero value
// (ADR 16, ADR 47).
type Mode struct {
	Sync   bool                                   // see Options.SyncDelivery
	Oracle func(partition string) *objects.Oracle // called once for each partition; nil: no partition has one

	// RecoveryQuiet is the time in which no allocation must have been reported, since the first application, before
	// anything is decided after the registration, unless the first application comes later than twice that after the nodes
	// (RMI-80); 0: nothing is held back.
	RecoveryQuiet time.Duration
	// PlacementsPerSecond limits the placements of each partition, with Sync (RMI-82); 0: there is no limit.
	PlacementsPerSecond int
}

func (m Mode) oracleOf(partition string) *objects.Oracle {
	if m.Oracle == nil {
		return nil
	}
	return m.Oracle(partition)
}

// Reset removes the nodes, applications and allocations of all partitions, for a resource manager
// that registers, and gives them its mode, which partitions that are created later have too. A
// partition changes its mode together with the removal: nothing is decided in between. reason says
// which resource manager registers, and in whose place; empty: it is the first one.
func (c *Cluster) Reset(ctx context.Context, mode Mode, reason string) error {
	if err := c.lockPartitions(ctx); err != nil {
		return err
	}
	defer c.unlockPartitions()
	c.mu.Lock()
	c.mode = mode
	c.mu.Unlock()
	for _, name := range c.Partitions() {
		if l, ok := c.Partition(name); ok {
			if err := l.reset(ctx, mode, name, reason); err != nil {
				return err
			}
		}
	}
	return nil
}

// reset empties the partition and sets its mode, and waits until both are done.
func (l *Loop) reset(ctx context.Context, mode Mode, partition, reason string) error {
	_, err := ask(ctx, l, func() struct{} {
		l.core.SetOracle(l.recordedOracle(mode.oracleOf(partition)))
		l.sync, l.recovery, l.rate = mode.Sync, recovery{quiet: mode.RecoveryQuiet}, placementRateOf(mode.PlacementsPerSecond)
		l.applyCommands([]scheduler.Command{scheduler.ResetPartition{Reason: reason}})
		return struct{}{}
	})
	return err
}
