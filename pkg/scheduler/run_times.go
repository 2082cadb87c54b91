package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// withRunTime is the new ask with the bound that it or its application wishes. The error says why the ask is rejected
// (RUN-1, RUN-3, RES-14).
func (c *Core) withRunTime(ask *objects.Ask) (*objects.Ask, error) {
	a, known := c.part.Application(ask.App)
	if !known {
		return ask, nil // it is rejected for that
	}
	if ask.MaxRunTime() != 0 {
		return ask, nil // a copy of one that was admitted
	}
	wish, err := runtimes.Wish(ask.Tags(), a.Tags())
	if err == nil {
		err = runtimes.Admit(wish, a.Queue().RunTime())
	}
	if err != nil {
		return ask, fmt.Errorf("run time: %w", err)
	}
	if _, err = backfill.Declines(ask.Tags()); err != nil {
		return ask, err
	}
	if wish != 0 {
		ask = ask.WithRunTime(wish, 0)
	}
	return ask, nil
}

// withReportedRunTime is the reported ask with its bound and with the time since which it runs. It runs whatever its
// tags say: the errors say which of them cannot be read, and are ignored (RUN-7).
func (c *Core) withReportedRunTime(ask *objects.Ask) (_ *objects.Ask, badWish, badStart error) {
	var app map[string]string
	if a, known := c.part.Application(ask.App); known {
		app = a.Tags()
	}
	wish, badWish := runtimes.Wish(ask.Tags(), app)
	started, badStart := c.runTimes.Reported(ask)
	return ask.WithRunTime(wish, started), badWish, badStart
}

// RunStarts returns the starts that ResetPartition keeps, by key (RUN-7).
func (c *Core) RunStarts() []runtimes.Start { return c.runTimes.Starts() }

// EnforcesRunTimes reports whether any allocation is released when it runs for too long (RUN-5).
func (c *Core) EnforcesRunTimes() bool { return c.runTimes.Enforces() }

// releaseOverrun releases x, which has run for longer than its bound (RUN-5).
func (c *Core) releaseOverrun(x *objects.Allocation, bound time.Duration) {
	c.emit(Released{x.Key(), x.Ask().App, TimedOut, fmt.Sprintf("it has run for longer than its bound of %v", bound)})
}
