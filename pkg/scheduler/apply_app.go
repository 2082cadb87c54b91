package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// addApplication accepts or rejects an application (APP-14, APP-30). An accepted one may create a dynamic
// leaf and set its quotas.
func (c *Core) addApplication(now time.Time, m AddApplication) {
	path, err := c.placeApplication(now, m)
	if err != nil {
		c.part.Reject(m.App, m.User, objects.QueuePath(m.Queue), err.Error(), now)
		c.emitQueueChanges() // a leaf that was created for it is gone
		c.emit(ApplicationRejected{m.App, m.Queue, m.User.Name, err.Error()})
		return
	}
	c.emitQueueChanges()
	c.operatorsOnAdded(m.App, path)
	c.emit(ApplicationAccepted{m.App, path, m.Tags})
	c.emitRefused(Refused{Subject: "group of application " + string(m.App), App: m.App}, c.part.ReadGroupPriorityTag(m.App))
	if a, _ := c.part.Application(m.App); objects.LastMove(c.part, a) != nil {
		return // the tags are about the queue in which it was placed
	}
	for _, problem := range c.part.ApplyQuotaTags(path, m.Tags) {
		c.emitRefused(Refused{Subject: fmt.Sprintf("quota of queue %s from application %s", path, m.App), App: m.App}, problem)
	}
}

// placeApplication adds an application to the leaf queue that placement finds for it (PLC-8 to PLC-10,
// ACL-13). A dynamic leaf is created when the rules ask for one. The groups of m.User are kept for as long
// as the application lives (LIM-10, ACL-22, APP-16, APP-20, APP-24, APP-26, GAN-12).
func (c *Core) placeApplication(now time.Time, m AddApplication) (objects.QueuePath, error) {
	if m.Unresolved != "" {
		return "", errors.New(m.Unresolved)
	}
	if _, ok := c.part.Application(m.App); ok {
		return "", fmt.Errorf("application %s %w", m.App, objects.ErrExists)
	}
	if err := c.checkNotBeingRemoved(); err != nil {
		return "", err
	}
	if leaf := c.movedLeaf(m); leaf != "" {
		return leaf, c.addToLeaf(now, m, leaf)
	}
	s := placement.Submission{Queue: m.Queue, User: m.User, Tags: m.Tags, CreateForced: placement.IsCreateForced(m.Tags)}
	name, err := placement.Place(c.part.Config().PlacementRules, s, c.queuesFor(m.App))
	if err != nil {
		return "", err
	}
	path := objects.QueuePath(name)
	if _, ok := c.part.Lookup(name); !ok {
		if err := c.checkNotDrained(m.App, path); err != nil {
			return "", err
		}
		if err := c.part.CreateLeaf(path, m.User); err != nil {
			return "", err
		}
	}
	return path, c.addToLeaf(now, m, path)
}

// addToLeaf adds an application to a leaf that exists.
func (c *Core) addToLeaf(now time.Time, m AddApplication, path objects.QueuePath) error {
	if err := c.part.Gangs().Admit(path, m.App, m.Gang.Requested, m.Tags); err != nil {
		return err
	}
	if err := c.part.AddApplication(m.App, m.User, path, m.Tags, now); err != nil {
		return err
	}
	if a, ok := c.part.Application(m.App); ok {
		a.DeclareGang(m.Gang)
	}
	return nil
}

// removeApplication removes an application with its asks and allocations (APP-33). An unknown one is
// ignored (APP-35).
func (c *Core) removeApplication(now time.Time, m RemoveApplication) {
	if _, ok := c.part.Application(m.App); !ok {
		c.emitIgnored(IgnoredRemoval, "", m.App, "it is unknown, or has ended")
	}
	freed, cancelled, _ := c.part.RemoveApplication(m.App, now)
	message := fmt.Sprintf("application %s was removed", m.App)
	for _, x := range cancelled {
		c.emit(AskCancelled{x.Key(), m.App, message})
	}
	for _, x := range freed {
		c.emit(Released{x.Key(), m.App, StoppedByRM, message})
	}
	c.emitStateChanges()
}
