package scheduler

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// errBeingRemoved is why a partition that drains takes nothing new.
var errBeingRemoved = errors.New("is being removed")

// CheckConfig says what keeps the partition from a configuration; nil: UseConfig would put it
// in force now. It changes nothing. prepared is as in UseConfig.
func (c *Core) CheckConfig(conf configs.Partition, prepared *objects.Difference) error {
	return c.part.CheckReconfigure(conf, prepared)
}

// Removable reports whether the partition is being removed and nothing is left in it: no
// node and no application. It stays so until UseConfig takes it back.
func (c *Core) Removable() bool {
	return c.draining && c.part.Empty()
}

func (c *Core) useConfig(m UseConfig) {
	if err := c.part.Reconfigure(m.Partition, m.Prepared); err != nil {
		c.emitRefused("configuration", err)
		return
	}
	c.draining = false
	c.emitQueueChanges()
	c.refreshDelays()
}

// checkNotBeingRemoved says why nothing new is taken; nil: it is.
func (c *Core) checkNotBeingRemoved() error {
	if c.draining {
		return fmt.Errorf("partition %s %w", c.part.Name(), errBeingRemoved)
	}
	return nil
}
