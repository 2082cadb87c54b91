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
	for _, l := range before.ownLimits() {
		d.compareLimit(path, l.limitKey, before, after)
	}
	for _, l := range after.ownLimits() {
		if _, compared := before.ownLimits().find(l.limitKey); !compared {
			d.compareLimit(path, l.limitKey, before, after)
		}
	}
}

// boundChange is a change of an effective limit. Most users that one limit names have the same, with the same values.
type boundChange struct {
	was, is   limits.Bound
	replaced  bool // the queue names the user or group on one side only
	inherited bool
}

func (c *boundChange) equal(o *boundChange) bool {
	return c.was.Equal(o.was) && c.is.Equal(o.is) && c.replaced == o.replaced && c.inherited == o.inherited
}

// compareLimit compares the effective limits of one user or group.
func (d *treeDiff) compareLimit(path string, key limitKey, before, after *diffQueue) {
	d.yield()
	was, ownBefore, had := before.effectiveBound(key)
	is, ownAfter, has := after.effectiveBound(key)
	if was.Equal(is) {
		return
	}
	b := &boundChange{was, is, had != has, had && has && ownBefore.Equal(ownAfter)}
	if d.last == nil || !d.last.equal(b) {
		d.last = b
		d.kind, d.values = b.compute(d.spelling)
	}
	c := LimitChange{Queue: path, Kind: d.kind, Values: d.values}
	if key.group {
		c.Group = key.name
	} else {
		c.User = key.name
	}
	d.out.Limits = append(d.out.Limits, c)
}

// compute returns the kind of the change, and its values.
func (c *boundChange) compute(s spelling) (kind Kind, changes []ValueChange) {
	from, to := boundValues(c.was), boundValues(c.is)
	kind = Changed
	switch {
	case len(from) == 0: // neither named nor bounded by a wildcard or a queue above
		kind = Created
	case len(to) == 0:
		kind = Removed
	}
	changes = s.diff(from, to, nil, nil)
	if c.replaced { // it takes the place of another limit, or another one its place: the reader knows none of its values
		for name, value := range to {
			if from[name] == value {
				changes = append(changes, ValueChange{Name: name, Before: value.spelt(s.old), After: value.spelt(s.new)})
			}
		}
		slices.SortFunc(changes, func(a, b ValueChange) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range changes {
		changes[i].Inherited = c.inherited
	}
	return kind, changes
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
	own, ok = s.limits.find(key)
	for ; s != nil; s = s.parent {
		at, named := s.limits.find(key)
		if !named && !key.group {
			at, _ = s.limits.find(limitKey{false, limits.Wildcard})
		}
		b = b.Tighten(at)
	}
	return b, own, ok
}

// holderLimit is a user or a group with the limit that names it.
type holderLimit struct {
	limitKey
	limit *limits.Limit
}

func (h holderLimit) compare(key limitKey) int {
	switch {
	case h.group == key.group:
		return strings.Compare(h.name, key.name)
	case h.group:
		return 1
	}
	return -1
}

// limitsByHolder are the limits of one queue, those of users first, by name. Lookups agree with limits.ForUser and
// limits.ForGroup, and are fast for documents with very many names.
type limitsByHolder []holderLimit

func limitsByHolderOf(rules []limits.Limit, yield func()) limitsByHolder {
	var l limitsByHolder
	put := func(group bool, names []string, limit *limits.Limit) {
		for _, name := range names {
			yield()
			l = append(l, holderLimit{limitKey{group, name}, limit})
		}
	}
	for i := range rules {
		put(false, rules[i].Users, &rules[i])
		put(true, rules[i].Groups, &rules[i])
	}
	slices.SortFunc(l, func(a, b holderLimit) int { // a valid queue names nobody twice (CFG-56)
		yield()
		return a.compare(b.limitKey)
	})
	return l
}

// find returns the limit that names the user or group.
func (l limitsByHolder) find(key limitKey) (b limits.Bound, ok bool) {
	i, ok := slices.BinarySearchFunc(l, key, holderLimit.compare)
	if ok {
		b = l[i].limit.Bound()
	}
	return b, ok
}

func boundValues(b limits.Bound) values {
	v := values{}
	v.putLimit("maxresources ", b.MaxResources)
	v.putCount("maxapplications", b.MaxApplications)
	return v
}
