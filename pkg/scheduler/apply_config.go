package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// errBeingRemoved rejects nodes and applications of a draining partition.
var errBeingRemoved = errors.New("is being removed")

// CheckConfig reports what makes a configuration impossible for the partition; nil: UseConfig would put it
// in force now. It changes nothing. prepared is as in UseConfig.
func (c *Core) CheckConfig(conf configs.Partition, prepared *configs.Difference) error {
	return c.part.CheckReconfigure(conf, prepared)
}

// Removable reports whether the partition is draining and has no node and no application (CFG-111). It
// stays removable until UseConfig takes it into use again.
func (c *Core) Removable() bool {
	return c.draining && c.part.Empty()
}

// useConfig puts a configuration in force, and ends a removal of the partition (CFG-112).
func (c *Core) useConfig(now time.Time, m UseConfig) {
	if err := c.part.Reconfigure(m.Partition, m.Prepared); err != nil {
		c.emitRefused(Refused{Subject: "configuration"}, err)
		return
	}
	c.draining = false
	c.quotas.Refresh(now)
	if c.operators.switchesQueues() {
		c.applyToQueues(c.part.Root())
	}
	c.emitQueueChanges()
}

// checkNotBeingRemoved is the reason why nodes and applications are rejected; nil: they are accepted (APP-19, ASK-22).
func (c *Core) checkNotBeingRemoved() error {
	if c.draining {
		return fmt.Errorf("partition %s %w", c.part.Name(), errBeingRemoved)
	}
	return nil
}

// Draining reports whether the partition is being removed: a DrainPartition came, and no UseConfig since.
func (c *Core) Draining() bool { return c.draining }
