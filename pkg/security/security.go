// Package security has users with their groups, and access lists (docs/behaviour/access.md). Package
// internal/server/usergroup resolves the groups of users, package objects checks the access lists of queues.
//
// The invariant: a list is parsed once, when the configuration is loaded; checking it cannot fail, and the cost
// does not grow linearly with the list.
package security

import (
	"slices"
	"strings"
)

// MaxGroups bounds the groups of a user (ACL-21): they are stored for each application, and every list,
// filter and limit searches them.
const MaxGroups = 4096

// User is a resolved user with its groups. Values are immutable.
type User struct {
	Name   string
	Groups []string
}

// ACL is a parsed access list. The zero value allows no user (ACL-3). Values are immutable.
type ACL struct {
	everyone bool
	users    []string // sorted and unique, like groups
	groups   []string
}

// Everyone returns the list that allows every user (ACL-2).
func Everyone() ACL { return ACL{everyone: true} }

// AllowList returns the list that allows these users and the members of these groups only.
func AllowList(users, groups []string) ACL {
	return ACL{users: sortedUnique(users), groups: sortedUnique(groups)}
}

func sortedUnique(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// Allows reports whether the list allows u. Names match exactly and with case (ACL-5).
func (a ACL) Allows(u User) bool {
	return a.everyone || containsSorted(a.users, u.Name) ||
		slices.ContainsFunc(u.Groups, func(g string) bool { return containsSorted(a.groups, g) })
}

// MatchedEntry returns the entry of the list that allows u: "*", "user ann", or "group dev" for the first group of the
// user that is in the list. Empty: u is not allowed.
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

// AllowsEveryone reports whether the list is Everyone.
func (a ACL) AllowsEveryone() bool { return a.everyone }

// Names returns the users and the groups of AllowList, sorted. The caller must not change them.
func (a ACL) Names() (users, groups []string) { return a.users, a.groups }

// IsEmpty reports whether the list allows no user.
func (a ACL) IsEmpty() bool { return !a.everyone && len(a.users) == 0 && len(a.groups) == 0 }

// String returns the list in the notation of queues.yaml, names sorted: "alice,bob dev".
func (a ACL) String() string {
	switch {
	case a.everyone:
		return "*"
	case len(a.groups) == 0:
		return strings.Join(a.users, ",")
	}
	return strings.Join(a.users, ",") + " " + strings.Join(a.groups, ",")
}
