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
)

// With is a copy of u with the usage of one more ended allocation, which had amounts on a node of an instance
// type for some whole seconds. u may be nil.
func (u *Usage) With(kind UsageKind, instanceType string, amounts resources.Amounts, seconds int64) *Usage {
	var next Usage
	if u != nil {
		next = *u
	}
	list := [...]*[]TypeUsage{&next.Real, &next.Preempted, &next.Placeholders}[kind]
	*list = withUsage(*list, instanceType, amounts, seconds)
	return &next
}

// withUsage is a copy of list, sorted by instance type, with more usage of one type: amounts for some seconds.
func withUsage(list []TypeUsage, instanceType string, amounts resources.Amounts, seconds int64) []TypeUsage {
	list = slices.Clone(list)
	at, found := slices.BinarySearchFunc(list, instanceType, func(u TypeUsage, name string) int {
		return strings.Compare(u.InstanceType, name)
	})
	if found {
		list[at].Usage = list[at].Usage.AddTimes(amounts, seconds)
		return list
	}
	return slices.Insert(list, at, TypeUsage{instanceType, amounts.Times(seconds)})
}
