package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Audit does the checks of Check in small steps, while the state changes between them (ADR 33, OBS-56).
type Audit struct {
	c     *Core
	part  *objects.Partition
	audit *objects.Audit
}

// NewAudit begins an audit. It costs nothing until Step is called.
func (c *Core) NewAudit() *Audit {
	return &Audit{c: c, part: c.part, audit: c.part.NewAudit()}
}

// Checked returns the number of objects that were checked: nodes, queues, applications, asks and allocations.
func (a *Audit) Checked() int { return a.audit.Checked() }

// Step checks about budget more objects. done: all were checked, or err reports an inconsistency. It may be
// called between any two calls of Step and Schedule of the Core (OBS-57).
func (a *Audit) Step(budget int) (done bool, err error) {
	if a.part != a.c.part { // the partition was reset meanwhile
		*a = *a.c.NewAudit()
	}
	if done, err = a.audit.Step(budget); !done || err != nil {
		return done, err
	}
	return true, a.c.preemption.Check()
}
