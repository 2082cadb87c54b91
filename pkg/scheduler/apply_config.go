package scheduler

import (
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// errRemoved is why a partition that drains takes nothing new.
var errRemoved = errors.New("is being removed")

// MayUse says what keeps the partition from a configuration; nil: UseConfig would put it
// in force now. It changes nothing. prepared is as in UseConfig.
func (c *Core) MayUse(conf configs.Partition, prepared *objects.Difference) error {
	return c.part.MayBecome(conf, prepared)
}

// Drained reports whether the partition is being removed and nothing is left in it: no
// node and no application. It stays so until UseConfig takes it back.
func (c *Core) Drained() bool {
	return c.drains && c.part.Empty()
}

func (c *Core) useConfig(m UseConfig) {
	if err := c.part.Reconfigure(m.Partition, m.Prepared); err != nil {
		c.refuse("configuration", err)
		return
	}
	c.drains = false
	c.tellQueues()
	c.refreshDues()
}

// open says why nothing new is taken; nil: it is.
func (c *Core) open() error {
	if c.drains {
		return fmt.Errorf("partition %s %w", c.part.Name(), errRemoved)
	}
	return nil
}
