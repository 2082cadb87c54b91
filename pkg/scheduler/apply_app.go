package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// addApplication accepts or rejects an application (APP-14, APP-30). An accepted one may create a dynamic
// leaf and set its quotas.
func (c *Core) addApplication(now time.Time, m AddApplication) {
	_, known := c.part.Application(m.App)
	path, err := c.leafFor(m)
	var recovered error // why it is in the recovery queue
	if err != nil && !known && placement.IsCreateForced(m.Tags) {
		recovered = err
		path, err = c.recoveryQueue(m.User)
	}
	if err == nil {
		err = c.part.AddApplication(m.App, m.User, path, m.Tags, now)
	}
	if err != nil {
		c.part.Reject(m.App, m.User, objects.QueuePath(m.Queue), err.Error(), now)
		c.emitQueueChanges() // a leaf that was created for it is gone
		c.emit(ApplicationRejected{m.App, m.Queue, m.User.Name, err.Error()})
		return
	}
	a, _ := c.part.Application(m.App)
	a.DeclareGang(m.Gang)
	c.emitQueueChanges()
	c.operatorsOnAdded(m.App, path)
	c.emit(ApplicationAccepted{m.App, path, m.Tags})
	c.emitRefused(Refused{Subject: fmt.Sprintf("placement of application %s, which is in %s", m.App, path), App: m.App},
		recovered)
	c.emitRefused(Refused{Subject: "group of application " + string(m.App), App: m.App},
		c.part.ReadGroupPriorityTag(m.App))
	if objects.LastMove(c.part, a) == nil { // else the tags are about the queue in which it was placed
		for _, problem := range c.part.ApplyQuotaTags(path, m.Tags) {
			c.emitRefused(Refused{Subject: fmt.Sprintf("quota of queue %s from application %s", path, m.App), App: m.App},
				problem)
		}
	}
	c.adoptOrphans(now, m.App)
}

// leafFor returns the leaf queue that takes an application, which placement finds (PLC-8 to PLC-10, ACL-13, ACL-22,
// APP-16, APP-20, APP-24, APP-26, GAN-12). A dynamic leaf is created when the rules ask for one.
func (c *Core) leafFor(m AddApplication) (objects.QueuePath, error) {
	if m.Refused != "" {
		return "", errors.New(m.Refused)
	}
	if _, ok := c.part.Application(m.App); ok {
		return "", fmt.Errorf("application %s %w", m.App, objects.ErrExists)
	}
	if err := c.checkNotBeingRemoved(); err != nil {
		return "", err
	}
	path := c.movedLeaf(m)
	if path == "" {
		s := placement.Submission{Queue: m.Queue, User: m.User, Tags: m.Tags}
		name, err := placement.Place(c.part.Config().PlacementRules, s, c.queuesFor(m.App))
		if err != nil {
			return "", err
		}
		path = objects.QueuePath(name)
	}
	if _, ok := c.part.Queue(path); !ok {
		if err := c.checkNotDrained(m.App, path); err != nil {
			return "", err
		}
		if err := c.part.CreateLeaf(path, m.User); err != nil {
			return "", err
		}
	}
	return path, gangscheduling.Admit(c.part, path, m.App, m.Gang.Requested, m.Tags)
}

// recoveryQueue returns the recovery queue, which is created if there is none. It takes every forced application that
// no other queue takes (PLC-28).
func (c *Core) recoveryQueue(u security.User) (objects.QueuePath, error) {
	if _, ok := c.part.Queue(placement.RecoveryQueue); ok {
		return placement.RecoveryQueue, nil
	}
	return placement.RecoveryQueue, c.part.CreateLeaf(placement.RecoveryQueue, u)
}

// removeApplication removes an application with its asks and allocations (APP-33). An unknown one is
// ignored (APP-35).
func (c *Core) removeApplication(now time.Time, m RemoveApplication) {
	message := fmt.Sprintf("application %s was removed", m.App)
	freed, cancelled, known := c.part.RemoveApplication(m.App, now)
	for _, x := range cancelled {
		c.emit(AskCancelled{x.Key(), m.App, message})
	}
	for _, x := range freed {
		c.emit(Released{x.Key(), m.App, StoppedByRM, message})
	}
	if orphans := c.releaseOrphans(Release{App: m.App}, message); !known && !orphans {
		c.emitIgnored(IgnoredRemoval, "", m.App, "it is unknown, or has ended")
	}
	c.emitStateChanges()
}
