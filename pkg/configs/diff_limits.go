package configs

import "github.com/canopy-scheduler/canopy/pkg/limits"

// limits compares what limits leave to everybody whom they name in a queue. Those of a queue
// that is created or removed are created or removed with it, so that the way back has as many
// changes as the way there.
func (d *differ) limits(path string, before, after *side) {
	named := map[limited]bool{}
	for _, s := range []*side{before, after} {
		if s != nil {
			for who := range s.limits {
				named[who] = true
			}
		}
	}
	for who := range named {
		was, ownBefore, had := before.bound(who)
		is, ownAfter, has := after.bound(who)
		c := LimitChange{Queue: path, Kind: Changed}
		switch {
		case !had:
			c.Kind = Created
		case !has:
			c.Kind = Removed
		}
		if who.group {
			c.Group = who.name
		} else {
			c.User = who.name
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

// limited is a user or a group.
type limited struct {
	group bool
	name  string
}

// bound is what limits leave to somebody here, and what those of the queue itself say. ok is
// false when they do not name them.
func (s *side) bound(who limited) (b, own limits.Bound, ok bool) {
	if s == nil {
		return b, own, false
	}
	own, ok = s.limits[who]
	for ; s != nil; s = s.up {
		at, named := s.limits[who]
		if !named && !who.group {
			at = s.limits[limited{false, limits.Wildcard}]
		}
		b = b.Tighten(at)
	}
	return b, own, ok
}

// level is what the limits of one queue say about whom they name. It is limits.OfUser and
// limits.OfGroup for a document that may name very many.
type level map[limited]limits.Bound

func levelOf(rules []limits.Rule) level {
	l := level{}
	put := func(who limited, b limits.Bound) {
		if _, ok := l[who]; !ok { // the first rule counts
			l[who] = b
		}
	}
	for _, r := range rules {
		for _, u := range r.Users {
			put(limited{false, u}, r.Bound())
		}
		for _, g := range r.Groups {
			put(limited{true, g}, r.Bound())
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
