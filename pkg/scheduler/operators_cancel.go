package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// mayCancel reports whether an application is known, and not cancelled before.
func (c *Core) mayCancel(m *Operate) (changed bool, err error) {
	a, known := c.part.Application(m.App)
	if !known {
		return false, fmt.Errorf("%w application %s", objects.ErrUnknown, m.App)
	}
	return !a.Cancelled(), nil
}

// cancel ends an application (OPS-7): it is Failing, the resource manager is asked to end what its asks and allocations
// are for, and it is Failed when it has confirmed the end of the last allocation.
func (c *Core) cancel(now time.Time, m *Operate) {
	id := m.App
	a, _ := c.part.Application(id)
	withdrawn, running := objects.CancelApplication(c.part, a, now)
	c.emitStateChanges()
	message := fmt.Sprintf("application %s was cancelled by an operator", id)
	for _, x := range withdrawn {
		c.emit(AskTimedOut{Key: x.Key(), App: id, Message: message, Withdrawn: true})
	}
	c.preemption.Evict(running, message, now)
	objects.EndCancelled(c.part, a, now)
	c.emitStateChanges()
}
