package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// instanceTypeAttribute is the node attribute by which usage is summed.
const instanceTypeAttribute = "si/instance-type"

// UsageHistory is the usage of the ended allocations; nil: none has run for a second (APP-45).
func (a *Application) UsageHistory() *lifecycle.Usage { return a.usageHistory.Usage() }

// recordUsage adds the usage of x, which is about to be removed. preempted: it is preempting. Requires: x is
// bound.
func (x *Allocation) recordUsage(preempted bool, now time.Time) {
	seconds := int64(now.Sub(x.BoundAt()) / time.Second)
	if seconds <= 0 {
		return
	}
	kind := lifecycle.RealUsage
	switch {
	case preempted:
		kind = lifecycle.PreemptedUsage
	case x.ask.Placeholder:
		kind = lifecycle.PlaceholderUsage
	}
	x.app.usageHistory.Add(kind, x.node.instanceType(), x.ask.Amounts, seconds)
}

func (n *Node) instanceType() string {
	if name := n.attributes[instanceTypeAttribute]; name != "" {
		return name
	}
	return lifecycle.UnknownInstanceType
}
