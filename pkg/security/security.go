// Package security holds who a user is and what an access list lets them do.
// Looking a user up in the operating system or LDAP is an edge's business, and
// deciding where a list is asked is the queue tree's.
//
// The rule that must hold: a list is parsed once, when it is configured; asking it
// cannot fail.
package security

import "slices"

// User is a resolved user with its groups. Values are immutable.
type User struct {
	Name   string
	Groups []string
}

// ACL is a parsed access list. The zero value allows nobody (behaviour.md 9.1).
type ACL struct {
	everyone bool
	users    []string
	groups   []string
}

// Everyone is the list that allows anybody.
func Everyone() ACL { return ACL{everyone: true} }

// AllowList is the list that allows exactly these users and members of these groups.
func AllowList(users, groups []string) ACL {
	return ACL{users: slices.Clone(users), groups: slices.Clone(groups)}
}

// Allows reports whether u may do what the list guards. Names match exactly.
func (a ACL) Allows(u User) bool {
	return a.everyone || slices.Contains(a.users, u.Name) ||
		slices.ContainsFunc(u.Groups, func(g string) bool { return slices.Contains(a.groups, g) })
}
