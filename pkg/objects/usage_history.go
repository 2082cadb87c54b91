package objects

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// instanceTypeAttribute is the node attribute by which usage is summed.
const instanceTypeAttribute = "si/instance-type"

// UnknownInstanceType is the instance type of a node without that attribute.
const UnknownInstanceType = "UNKNOWN"

// UsageHistory is the usage of the ended allocations of an application: quantities times whole
// seconds, by the instance type of their node (APP-45). A resized allocation counts with its last
// size; a running one does not count. A UsageHistory is immutable.
type UsageHistory struct {
	Real         []TypeUsage // other ended allocations
	Preempted    []TypeUsage // allocations that were preempting when they ended
	Placeholders []TypeUsage
}

// TypeUsage is the usage on nodes of one instance type.
type TypeUsage struct {
	InstanceType string            // UnknownInstanceType: the node has none
	Usage        resources.Amounts // quantity times seconds; saturates at 64 bits
}

// UsageHistory is the usage of the ended allocations; nil: none has run for a second.
func (a *Application) UsageHistory() *UsageHistory { return a.usageHistory }

// recordUsage adds the usage of x, which is about to be removed. Requires: x is bound.
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

// withUsage is a copy of list, sorted by instance type, with more usage of one type.
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
