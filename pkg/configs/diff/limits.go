package diff

import (
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// compareLimits compares the effective limits of all users and groups that the limits of a queue name.
// The limits of a created queue are created and those of a removed queue removed, so that the
// reverse Change has as many changes.
func (d *treeDiff) compareLimits(path string, before, after *diffQueue) {
	for key := range before.ownLimits() {
		d.compareLimit(path, key, before, after)
	}
	for key := range after.ownLimits() {
		if _, compared := before.ownLimits()[key]; !compared {
			d.compareLimit(path, key, before, after)
		}
	}
}

// compareLimit compares the effective limits of one user or group.
func (d *treeDiff) compareLimit(path string, key limitKey, before, after *diffQueue) {
	d.yield()
	was, ownBefore, had := before.effectiveBound(key)
	is, ownAfter, has := after.effectiveBound(key)
	if was.Equal(is) {
		return
	}
	from, to := boundValues(was), boundValues(is)
	c := LimitChange{Queue: path, Kind: Changed}
	switch {
	case len(from) == 0: // neither named nor bounded by a wildcard or a queue above
		c.Kind = Created
	case len(to) == 0:
		c.Kind = Removed
	}
	if key.group {
		c.Group = key.name
	} else {
		c.User = key.name
	}
	c.Values = diffValues(from, to, nil, nil)
	if had != has { // it takes the place of another limit, or another one its place: the reader knows none of its values
		for name, value := range to {
			if from[name] == value {
				c.Values = append(c.Values, ValueChange{Name: name, Before: value, After: value})
			}
		}
		slices.SortFunc(c.Values, func(a, b ValueChange) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range c.Values {
		c.Values[i].Inherited = had && has && ownBefore.Equal(ownAfter)
	}
	d.out.Limits = append(d.out.Limits, c)
}

func (s *diffQueue) ownLimits() limitsByHolder {
	if s == nil {
		return nil
	}
	return s.limits
}

// limitKey is a user or a group.
type limitKey struct {
	group bool
	name  string
}

// effectiveBound is the effective limit of a user or group in a queue, and the queue's own limit for it. ok is
// false if the queue's own limits do not name the user or group.
func (s *diffQueue) effectiveBound(key limitKey) (b, own limits.Bound, ok bool) {
	if s == nil {
		return b, own, false
	}
	own, ok = s.limits[key]
	for ; s != nil; s = s.parent {
		at, named := s.limits[key]
		if !named && !key.group {
			at = s.limits[limitKey{false, limits.Wildcard}]
		}
		b = b.Tighten(at)
	}
	return b, own, ok
}

// limitsByHolder are the limits of one queue by user and group. Lookups agree with limits.ForUser and
// limits.ForGroup, and are fast for documents with very many names.
type limitsByHolder map[limitKey]limits.Bound

func limitsByHolderOf(rules []limits.Limit, yield func()) limitsByHolder {
	l := limitsByHolder{}
	put := func(key limitKey, b limits.Bound) {
		yield()
		if _, ok := l[key]; !ok { // the first rule counts
			l[key] = b
		}
	}
	for _, r := range rules {
		for _, u := range r.Users {
			put(limitKey{false, u}, r.Bound())
		}
		for _, g := range r.Groups {
			put(limitKey{true, g}, r.Bound())
		}
	}
	return l
}

func boundValues(b limits.Bound) map[string]string {
	v := map[string]string{}
	putLimit(v, "maxresources ", b.MaxResources)
	putCount(v, "maxapplications", b.MaxApplications)
	return v
}
