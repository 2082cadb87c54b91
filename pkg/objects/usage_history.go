package objects

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// instanceTypeAttribute is the node attribute by which ended usage is added up.
const instanceTypeAttribute = "si/instance-type"

// UnknownInstanceType is the instance type of a node without that attribute.
const UnknownInstanceType = "UNKNOWN"

// UsageHistory is what the ended allocations of an application held, times how long they held it:
// quantities times whole seconds, by the instance type of their node (behaviour.md 11.4,
// resourceHistory). An allocation that was resized counts with its last size. What still runs is
// not in it. A UsageHistory never changes: a release makes a new one.
type UsageHistory struct {
	Real         []TypeUsage // of allocations that ended in any other way
	Preempted    []TypeUsage // of allocations that were marked preempting when they ended
	Placeholders []TypeUsage
}

// TypeUsage is the usage on nodes of one instance type.
type TypeUsage struct {
	InstanceType string            // UnknownInstanceType where the node named none
	Usage        resources.Amounts // quantity times seconds; saturates
}

// UsageHistory is what the ended allocations of the application used; nil: none has run for a second.
func (a *Application) UsageHistory() *UsageHistory { return a.usageHistory }

// recordUsage adds what x, which is about to leave the books, has used until now. Requires: x is bound.
func (p *Partition) recordUsage(x *Allocation, now time.Time) {
	seconds := int64(now.Sub(x.BoundAt()) / time.Second)
	if seconds <= 0 {
		return
	}
	var next UsageHistory
	if x.app.usageHistory != nil {
		next = *x.app.usageHistory
	}
	usages := &next.Real
	switch {
	case p.Preempting(x):
		usages = &next.Preempted
	case x.ask.Placeholder:
		usages = &next.Placeholders
	}
	*usages = withUsage(*usages, x.node.instanceType(), x.ask.Amounts.Times(seconds))
	x.app.usageHistory = &next
}

// withUsage is the list with more usage of one type, by name. The old list stays as it is.
func withUsage(list []TypeUsage, instanceType string, more resources.Amounts) []TypeUsage {
	list = slices.Clone(list)
	at, found := slices.BinarySearchFunc(list, instanceType, func(u TypeUsage, name string) int {
		return strings.Compare(u.InstanceType, name)
	})
	if found {
		list[at].Usage = list[at].Usage.Add(more)
		return list
	}
	return slices.Insert(list, at, TypeUsage{instanceType, more})
}

func (n *Node) instanceType() string {
	if name := n.attributes[instanceTypeAttribute]; name != "" {
		return name
	}
	return UnknownInstanceType
}
