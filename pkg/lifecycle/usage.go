package lifecycle

import (
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// UnknownInstanceType is the instance type of a node without that attribute.
const UnknownInstanceType = "UNKNOWN"

// Usage is the usage of the ended allocations of an application: quantities times whole
// seconds, by the instance type of their node (APP-45). A resized allocation counts with its last
// size; a running one does not count. A Usage is immutable.
type Usage struct {
	Real         []TypeUsage // other ended allocations
	Preempted    []TypeUsage // allocations that were preempting when they ended
	Placeholders []TypeUsage
}

// TypeUsage is the usage on nodes of one instance type.
type TypeUsage struct {
	InstanceType string            // UnknownInstanceType: the node has none
	Usage        resources.Amounts // quantity times seconds; saturates at 64 bits
}

// UsageKind is the list of a Usage in which an ended allocation counts.
type UsageKind uint8

// The kinds of usage.
const (
	RealUsage UsageKind = iota
	PreemptedUsage
	PlaceholderUsage
	usageKinds
)

// UsageSum adds up the usage of ended allocations in place. The zero value has none.
type UsageSum struct{ s *usageSum } // nil: no allocation ran for a second

type usageSum struct {
	lists [usageKinds][]typeTotal // each sorted by instance type
	usage *Usage                  // the sum; nil: it has changed since it was asked for
}

type typeTotal struct {
	instanceType string
	total        resources.Total
}

// Usage returns the sum until now; nil: no allocation ran for a second.
func (u UsageSum) Usage() *Usage {
	if u.s == nil {
		return nil
	}
	if u.s.usage == nil {
		u.s.usage = &Usage{usageOf(u.s.lists[RealUsage]), usageOf(u.s.lists[PreemptedUsage]),
			usageOf(u.s.lists[PlaceholderUsage])}
	}
	return u.s.usage
}

func usageOf(list []typeTotal) (out []TypeUsage) {
	for i := range list {
		out = append(out, TypeUsage{list[i].instanceType, list[i].total.Amounts()})
	}
	return out
}

// Add adds the usage of one more ended allocation, which had amounts on a node of an instance type for some whole
// seconds.
func (u *UsageSum) Add(kind UsageKind, instanceType string, amounts resources.Amounts, seconds int64) {
	if u.s == nil {
		u.s = &usageSum{}
	}
	u.s.usage = nil
	list := &u.s.lists[kind]
	at, found := slices.BinarySearchFunc(*list, instanceType, func(t typeTotal, name string) int {
		return strings.Compare(t.instanceType, name)
	})
	if !found {
		*list = slices.Insert(*list, at, typeTotal{instanceType: instanceType})
	}
	(*list)[at].total.AddTimes(amounts, seconds)
}
