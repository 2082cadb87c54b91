package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

func (c *Core) addApplication(now time.Time, m AddApplication) {
	if err := c.join(now, m); err != nil {
		c.part.Reject(m.App, m.User, objects.QueuePath(m.Queue), err.Error(), now)
		c.emit(ApplicationRejected{m.App, err.Error()})
		return
	}
	c.emit(ApplicationAccepted{m.App})
}

// join places an application, in a queue that is made for it if need be.
func (c *Core) join(now time.Time, m AddApplication) error {
	if _, ok := c.part.Application(m.App); ok {
		return fmt.Errorf("application %s %w", m.App, objects.ErrExists)
	}
	if err := c.open(); err != nil {
		return err
	}
	s := placement.Submission{Queue: m.Queue, User: m.User, Tags: m.Tags, Forced: placement.IsForced(m.Tags)}
	path, err := placement.Place(c.part.Config().Rules, s, c.part)
	if err != nil {
		return err
	}
	if _, ok := c.part.Lookup(path); !ok {
		if err := c.part.CreateLeaf(objects.QueuePath(path), m.User); err != nil {
			return err
		}
	}
	return c.part.AddApplication(m.App, m.User, objects.QueuePath(path), m.Tags, now)
}

func (c *Core) removeApplication(now time.Time, m RemoveApplication) {
	freed, _ := c.part.RemoveApplication(m.App, now)
	for _, x := range freed {
		c.emit(Released{x.Key(), m.App, StoppedByRM, fmt.Sprintf("application %s was removed", m.App)})
	}
	c.tellStates()
}
