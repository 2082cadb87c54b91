package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

func (c *Core) addApplication(now time.Time, m AddApplication) {
	leaf, err := c.place(m)
	if err == nil {
		err = c.part.AddApplication(m.App, m.User, leaf, m.Tags, now)
	}
	if err != nil {
		c.emit(ApplicationRejected{m.App, err.Error()})
		return
	}
	c.emit(ApplicationAccepted{m.App})
}

// place finds the leaf a submission names. A name is looked up as it is written when
// it starts at root, and below root otherwise, in lower case (behaviour.md 7.3).
func (c *Core) place(m AddApplication) (objects.QueuePath, error) {
	name := strings.ToLower(strings.TrimSpace(m.Queue))
	if name == "" {
		return "", fmt.Errorf("application %s names no queue", m.App)
	}
	if name == string(objects.RootPath) || strings.HasPrefix(name, string(objects.RootPath)+".") {
		return objects.QueuePath(name), nil
	}
	return objects.RootPath.Child(name), nil
}

func (c *Core) removeApplication(m RemoveApplication) {
	freed, _ := c.part.RemoveApplication(m.App)
	for _, x := range freed {
		c.emit(Released{x.Key(), m.App, StoppedByRM, fmt.Sprintf("application %s was removed", m.App)})
	}
}
