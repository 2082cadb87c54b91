// Package resources has the resource amounts of the state that pkg/scheduler shows.
//
// The package owns the type and its form in the scheduler interface. It leaves arithmetic to the scheduler.
//
// Invariant: a Resource that was read from the scheduler does not change.
package resources

import "github.com/apache/yunikorn-scheduler-interface/lib/go/si"

// Quantity is an amount of one resource, in the unit of the scheduler interface: thousandths of a core, bytes, pieces.
type Quantity int64

// Resource is an amount of each named resource.
type Resource struct{ Resources map[string]Quantity }

// NewResourceFromMap is a Resource of the amounts in m.
func NewResourceFromMap(m map[string]int64) *Resource {
	r := &Resource{Resources: make(map[string]Quantity, len(m))}
	for name, n := range m {
		r.Resources[name] = Quantity(n)
	}
	return r
}

// ToProto is the Resource as a message of the scheduler interface. nil has no amounts.
func (r *Resource) ToProto() *si.Resource {
	m := &si.Resource{Resources: map[string]*si.Quantity{}}
	if r == nil {
		return m
	}
	for name, n := range r.Resources {
		m.Resources[name] = &si.Quantity{Value: int64(n)}
	}
	return m
}
