// Package limits has the configured limits of users and groups (docs/behaviour/limits.md) and the class quotas of
// queues (QUO-34 to QUO-45), and finds the one that holds for a user or group. Package objects counts the
// accounts, package configs reads both from documents.
//
// The invariant: a Limit or a ClassQuota is valid by construction; nothing checks it again.
package limits

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Wildcard is the name that holds for every user, or every group, that is not named (LIM-2, LIM-8).
const Wildcard = "*"

// Limit bounds what the named users (each separately) and groups (each as a pool) may use in one queue (LIM-1,
// LIM-5). At least one list is not empty.
type Limit struct {
	Description     string
	Users, Groups   []string
	MaxResources    resources.Limit // the zero value limits nothing
	MaxApplications uint64          // 0: not limited
}

// Index finds the limits of one queue by user and by group. The nil Index has no limits. It is immutable.
type Index struct {
	list  []Limit
	names nameIndex
}

// NewIndex returns the Index of the limits of a queue, in the order of the document.
func NewIndex(list []Limit) *Index {
	if len(list) == 0 {
		return nil
	}
	users, groups := 0, 0
	for i := range list {
		users, groups = users+len(list[i].Users), groups+len(list[i].Groups)
	}
	x := &Index{list, newNameIndex(users, groups)}
	for i := range list {
		x.names.add(i, list[i].Users, list[i].Groups)
	}
	return x
}

// All returns the limits in the order of the document. Read-only.
func (x *Index) All() []Limit {
	if x == nil {
		return nil
	}
	return x.list
}

// ForUser returns the limit that holds for a user: the first that names the user, or else the first with the wildcard.
// The two are not combined (LIM-2).
func (x *Index) ForUser(user string) (Limit, bool) {
	if x == nil {
		return Limit{}, false
	}
	return x.at(x.names.forUser(user))
}

// ForGroup returns the limit that holds for a group. Here Wildcard is a group like any other; ResolveGroup says which
// users count in it.
func (x *Index) ForGroup(group string) (Limit, bool) {
	if x == nil {
		return Limit{}, false
	}
	e, named := x.names.groups[group]
	return x.at(e.index, named)
}

func (x *Index) at(i int, ok bool) (Limit, bool) {
	if !ok {
		return Limit{}, false
	}
	return x.list[i], true
}

// ResolveGroup returns the group that a user with these groups counts for: the first that a limit names and the user
// has, or else Wildcard if a limit names it (LIM-6, LIM-8). ok is false when no group limit applies; the queue above
// decides then.
func (x *Index) ResolveGroup(groups []string) (group string, ok bool) {
	if x == nil {
		return "", false
	}
	_, group, ok = x.names.forGroups(groups)
	return group, ok
}
