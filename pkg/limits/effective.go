package limits

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Bound is the result of several limits along a path. The zero value limits nothing.
type Bound struct {
	MaxResources    resources.Limit
	MaxApplications uint64 // 0: not limited
}

// Bound returns the limit as a bound, without its users and groups.
func (r Limit) Bound() Bound { return Bound{r.MaxResources, r.MaxApplications} }

// Tighten returns the smaller of two bounds in each resource, and in applications.
func (b Bound) Tighten(c Bound) Bound {
	apps := b.MaxApplications
	if apps == 0 || c.MaxApplications != 0 && c.MaxApplications < apps {
		apps = c.MaxApplications
	}
	return Bound{b.MaxResources.Tighten(c.MaxResources), apps}
}

// Equal reports whether b and c are equal.
func (b Bound) Equal(c Bound) bool {
	return b.MaxApplications == c.MaxApplications && b.MaxResources.Equal(c.MaxResources)
}

// Path holds the limits of a queue and of the queues above it, the queue itself first.
type Path []*Index

// UserBound returns the bound of a user along the path: ForUser of each queue, tightened (LIM-3).
func (p Path) UserBound(name string) Bound {
	var out Bound
	for _, at := range p {
		if r, ok := at.ForUser(name); ok {
			out = out.Tighten(r.Bound())
		}
	}
	return out
}

// GroupBound returns the bound of all members of a group together along the path: ForGroup of each queue, tightened
// (LIM-7).
func (p Path) GroupBound(name string) Bound {
	var out Bound
	for _, at := range p {
		if r, ok := at.ForGroup(name); ok {
			out = out.Tighten(r.Bound())
		}
	}
	return out
}

// ResolveGroup returns the group that an application of a user with these groups counts for: the group of the first
// queue, from the leaf up, in which a limit applies (LIM-6). ok is false when no limit applies (LIM-9).
func (p Path) ResolveGroup(groups []string) (group string, ok bool) {
	for _, at := range p {
		if g, ok := at.ResolveGroup(groups); ok {
			return g, true
		}
	}
	return "", false
}
