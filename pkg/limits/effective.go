package limits

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Bound is what limits leave to somebody along a path. The zero value limits nothing.
type Bound struct {
	MaxResources    resources.Limit
	MaxApplications uint64 // 0: not limited
}

// Bound is the rule as a bound, whoever it is for.
func (r Limit) Bound() Bound { return Bound{r.MaxResources, r.MaxApplications} }

// Tighten is the smaller of two bounds.
func (b Bound) Tighten(c Bound) Bound {
	apps := b.MaxApplications
	if apps == 0 || c.MaxApplications != 0 && c.MaxApplications < apps {
		apps = c.MaxApplications
	}
	return Bound{b.MaxResources.Tighten(c.MaxResources), apps}
}

// Equal reports whether b and c bound the same.
func (b Bound) Equal(c Bound) bool {
	return b.MaxApplications == c.MaxApplications && b.MaxResources.Equal(c.MaxResources)
}

// Path is the rules of a queue and of the queues above it, the queue itself first.
type Path [][]Limit

// UserBound is what a user may use along the path: OfUser at every queue.
func (p Path) UserBound(name string) Bound {
	var out Bound
	for _, list := range p {
		if r, ok := ForUser(list, name); ok {
			out = out.Tighten(r.Bound())
		}
	}
	return out
}

// GroupBound is what a group may use along the path, all its members together: ForGroup at every
// queue.
func (p Path) GroupBound(name string) Bound {
	var out Bound
	for _, list := range p {
		if r, ok := ForGroup(list, name); ok {
			out = out.Tighten(r.Bound())
		}
	}
	return out
}

// ResolveGroup is the group that answers for an application of somebody in these groups: that of
// the first queue, going up, where ResolveGroup finds one. ok is false when none does.
func (p Path) ResolveGroup(groups []string) (group string, ok bool) {
	for _, list := range p {
		if g, ok := ResolveGroup(list, groups); ok {
			return g, true
		}
	}
	return "", false
}
