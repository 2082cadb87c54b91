// Package security holds who a user is and what an access list lets them do.
// Looking a user up in the operating system or LDAP is an edge's business, and
// deciding where a list is asked is the queue tree's.
//
// The rule that must hold: a list is parsed once, when it is configured; asking it
// cannot fail, and its cost does not grow with the list.
package security

import (
	"slices"
	"strings"
)

// MaxGroups is how many groups a user may have: they are kept for each application, and
// every list, filter and limit looks through them.
const MaxGroups = 4096

// User is a resolved user with its groups. Values are immutable.
type User struct {
	Name   string
	Groups []string
}

// ACL is a parsed access list. The zero value allows nobody (behaviour.md 9.1).
type ACL struct {
	everyone bool
	users    []string // in order, each once; so are groups
	groups   []string
}

// Everyone is the list that allows anybody.
func Everyone() ACL { return ACL{everyone: true} }

// AllowList is the list that allows exactly these users and members of these groups.
func AllowList(users, groups []string) ACL {
	return ACL{users: sortedUnique(users), groups: sortedUnique(groups)}
}

func sortedUnique(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// Allows reports whether u may do what the list guards. Names match exactly, case
// included.
func (a ACL) Allows(u User) bool {
	return a.everyone || containsSorted(a.users, u.Name) ||
		slices.ContainsFunc(u.Groups, func(g string) bool { return containsSorted(a.groups, g) })
}

// MatchedEntry is the name in the list for which u is allowed: "*", "user ann" or "group dev",
// the first of the user's groups that counts. Empty: u is not allowed.
func (a ACL) MatchedEntry(u User) string {
	switch {
	case a.everyone:
		return "*"
	case containsSorted(a.users, u.Name):
		return "user " + u.Name
	}
	for _, g := range u.Groups {
		if containsSorted(a.groups, g) {
			return "group " + g
		}
	}
	return ""
}

func containsSorted(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}

// IsEmpty reports whether the list allows nobody.
func (a ACL) IsEmpty() bool { return !a.everyone && len(a.users) == 0 && len(a.groups) == 0 }

// String is the list as queues.yaml would write it, names in order: "alice,bob dev".
func (a ACL) String() string {
	switch {
	case a.everyone:
		return "*"
	case len(a.groups) == 0:
		return strings.Join(a.users, ",")
	}
	return strings.Join(a.users, ",") + " " + strings.Join(a.groups, ",")
}
