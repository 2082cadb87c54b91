package diff

import (
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// limitKey is a user or a group.
type limitKey struct {
	group bool
	name  string
}

// namedLimits are the limits of the users and groups that the limits of one queue name.
type namedLimits map[limitKey]limits.Bound

func namedLimitsOf(list []limits.Limit, yield func()) namedLimits {
	out := namedLimits{}
	put := func(group bool, names []string, bound limits.Bound) {
		for _, name := range names { // a valid queue names nobody twice (CFG-56)
			yield()
			out[limitKey{group, name}] = bound
		}
	}
	for _, l := range list {
		put(false, l.Users, l.Bound())
		put(true, l.Groups, l.Bound())
	}
	return out
}

// compareLimits compares the effective limits of all users and groups that the limits of a queue name.
// The limits of a created queue are created and those of a removed queue removed, so that the
// reverse Change has as many changes.
func (d *treeDiff) compareLimits(path string, before, after *diffQueue) {
	for key := range before.limits {
		d.compareLimit(path, key, before, after)
	}
	for key := range after.limits {
		if _, compared := before.limits[key]; !compared {
			d.compareLimit(path, key, before, after)
		}
	}
}

// compareLimit compares the effective limits of one user or group.
func (d *treeDiff) compareLimit(path string, key limitKey, before, after *diffQueue) {
	d.yield()
	was, is := before.effectiveBound(key), after.effectiveBound(key)
	if was.Equal(is) {
		return
	}
	own, had := before.limits[key]
	next, has := after.limits[key]
	from, to := boundValues(was), boundValues(is)
	c := LimitChange{Queue: path, Kind: Changed, Values: d.diff(from, to, nil, nil)}
	switch {
	case len(from) == 0: // neither named nor bounded by a wildcard or a queue above
		c.Kind = Created
	case len(to) == 0:
		c.Kind = Removed
	}
	if had != has { // it takes the place of another limit, or another one its place: the reader knows none of its values
		for name, value := range to {
			if from[name] == value {
				c.Values = append(c.Values, ValueChange{Name: name, Before: value.spelt(d.old), After: value.spelt(d.new)})
			}
		}
		slices.SortFunc(c.Values, func(a, b ValueChange) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range c.Values {
		c.Values[i].Inherited = had && has && own.Equal(next)
	}
	if key.group {
		c.Group = key.name
	} else {
		c.User = key.name
	}
	d.out.Limits = append(d.out.Limits, c)
}

// effectiveBound returns the effective limit of a user or group in a queue, as limits.Path does.
func (s *diffQueue) effectiveBound(key limitKey) (b limits.Bound) {
	for ; s != nil; s = s.parent {
		at, named := s.limits[key]
		if !named && !key.group {
			at = s.limits[limitKey{false, limits.Wildcard}]
		}
		b = b.Tighten(at)
	}
	return b
}

func boundValues(b limits.Bound) values {
	v := values{}
	v.putLimit("maxresources ", b.MaxResources)
	v.putCount("maxapplications", b.MaxApplications)
	return v
}
