package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

func (c *Core) addApplication(now time.Time, m AddApplication) {
	path, err := c.join(now, m)
	if err != nil {
		c.part.Reject(m.App, m.User, objects.QueuePath(m.Queue), err.Error(), now)
		c.emit(ApplicationRejected{m.App, m.Queue, m.User.Name, err.Error()})
		return
	}
	c.tellQueues()
	c.emit(ApplicationAccepted{m.App})
	c.refuse("group of application "+string(m.App), c.part.UseGroupTag(m.App))
	for _, problem := range c.part.UseQuotaTags(path, m.Tags) {
		c.refuse(fmt.Sprintf("quota of queue %s from application %s", path, m.App), problem)
	}
}

// join places an application, in a queue that is made for it if need be.
func (c *Core) join(now time.Time, m AddApplication) (objects.QueuePath, error) {
	if m.Unresolved != "" {
		return "", errors.New(m.Unresolved)
	}
	if _, ok := c.part.Application(m.App); ok {
		return "", fmt.Errorf("application %s %w", m.App, objects.ErrExists)
	}
	if err := c.open(); err != nil {
		return "", err
	}
	s := placement.Submission{Queue: m.Queue, User: m.User, Tags: m.Tags, Forced: placement.IsForced(m.Tags)}
	name, err := placement.Place(c.part.Config().Rules, s, c.part)
	if err != nil {
		return "", err
	}
	path := objects.QueuePath(name)
	if _, ok := c.part.Lookup(name); !ok {
		if err := c.part.CreateLeaf(path, m.User); err != nil {
			return "", err
		}
	}
	return path, c.part.AddApplication(m.App, m.User, path, m.Tags, now)
}

func (c *Core) removeApplication(now time.Time, m RemoveApplication) {
	c.noteRemoval(m.App, now)
	if _, ok := c.part.Application(m.App); !ok {
		c.ignore(IgnoredRemoval, "", m.App, "it is unknown, or has ended")
	}
	freed, cancelled, _ := c.part.RemoveApplication(m.App, now)
	c.noteGone(End{How: LeftWithApplication, At: now}, freed...)
	why := fmt.Sprintf("application %s was removed", m.App)
	for _, x := range cancelled {
		c.emit(AskCancelled{x.Key(), m.App, why})
	}
	for _, x := range freed {
		c.emit(Released{x.Key(), m.App, StoppedByRM, why})
	}
	c.tellStates()
}
