package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// BackfillCounts says how often asks were backfilled, and released for a reserved ask.
func (c *Core) BackfillCounts() backfill.Counts { return c.backfill.Counts() }

// backfillOne places an ask in what is reserved for others (RES-12). ok is false if none may be.
func (c *Core) backfillOne(now time.Time) (ok bool) {
	x, n := c.backfill.Place(now)
	if x == nil {
		return false
	}
	c.emitStateChanges()
	c.emitAllocated(x.Ask(), n.ID())
	c.preemption.RecordEnded(preemption.VictimEnd{}, now)
	c.reservations.ReportEnded()
	return true
}

// backfillHost is a Core as the backfill engine sees it.
type backfillHost struct{ nodeHost }

// Accepts implements backfill.Host. The answers of the RM are remembered.
func (h backfillHost) Accepts(x *objects.Allocation, n *objects.Node) bool {
	return h.c.nodes.For(x).Allows(n) && h.c.accepts(x, n)
}

// OnBackfillEnd implements backfill.Host (RES-16).
func (h backfillHost) OnBackfillEnd(y, x *objects.Allocation) {
	h.c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
		fmt.Sprintf("backfilled: reserved ask %s of application %s fits without it", x.Key(), x.Ask().App)})
}
