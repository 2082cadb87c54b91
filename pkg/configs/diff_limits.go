package configs

import "github.com/canopy-scheduler/canopy/pkg/limits"

// compareLimits compares what limits leave to everybody whom they name in a queue. Those of a queue
// that is created or removed are created or removed with it, so that the way back has as many
// changes as the way there.
func (d *treeDiff) compareLimits(path string, before, after *diffQueue) {
	named := map[limitKey]bool{}
	for _, s := range []*diffQueue{before, after} {
		if s != nil {
			for key := range s.limits {
				named[key] = true
			}
		}
	}
	for key := range named {
		was, ownBefore, had := before.effectiveBound(key)
		is, ownAfter, has := after.effectiveBound(key)
		c := LimitChange{Queue: path, Kind: Changed}
		switch {
		case !had:
			c.Kind = Created
		case !has:
			c.Kind = Removed
		}
		if key.group {
			c.Group = key.name
		} else {
			c.User = key.name
		}
		if c.Values = diffValues(boundValues(was), boundValues(is), nil, nil); len(c.Values) == 0 {
			continue
		}
		for i := range c.Values {
			c.Values[i].Inherited = had && has && ownBefore.Equal(ownAfter)
		}
		d.out.Limits = append(d.out.Limits, c)
	}
}

// limitKey is a user or a group.
type limitKey struct {
	group bool
	name  string
}

// effectiveBound is what limits leave to somebody here, and what those of the queue itself say. ok is
// false when they do not name them.
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

// limitsByHolder is what the limits of one queue say about whom they name. It is limits.ForUser and
// limits.ForGroup for a document that may name very many.
type limitsByHolder map[limitKey]limits.Bound

func limitsByHolderOf(rules []limits.Limit) limitsByHolder {
	l := limitsByHolder{}
	put := func(key limitKey, b limits.Bound) {
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
