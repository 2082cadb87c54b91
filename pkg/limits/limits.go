// Package limits holds the configured bounds on what users and groups, and asks of some
// priority classes, may use in a queue. Keeping their accounts is the ledger's business
// (package objects); reading them from text is package configs'.
//
// The rule that must hold: a Rule or a ClassQuota is valid by construction; nobody checks it
// again.
package limits

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Wildcard is the name that stands for every user, or every group, not named itself.
const Wildcard = "*"

// Limit bounds what the named users (each on their own) and groups (each as a pool)
// may use in one queue (behaviour.md 1.2.4, 8). At least one list is not empty.
type Limit struct {
	Description     string
	Users, Groups   []string
	MaxResources    resources.Limit // the zero value does not limit
	MaxApplications uint64          // 0: not limited
}

// ForUser is the rule of a queue that holds for a user: the first that names the user, else
// the first that names everybody. The two are not combined (behaviour.md 8.2).
func ForUser(list []Limit, user string) (Limit, bool) {
	if r, ok := firstLimit(list, func(r Limit) bool { return slices.Contains(r.Users, user) }); ok {
		return r, true
	}
	return firstLimit(list, func(r Limit) bool { return slices.Contains(r.Users, Wildcard) })
}

// ForGroup is the rule of a queue that holds for a group. Wildcard is a group like any
// other: whoever counts as it is for ResolveGroup to say.
func ForGroup(list []Limit, group string) (Limit, bool) {
	return firstLimit(list, func(r Limit) bool { return slices.Contains(r.Groups, group) })
}

// ResolveGroup is the group that a user with these groups counts as in a queue: the first that
// a rule names and the user has, else Wildcard where a rule names that. ok is false when
// no rule is about any of them; then a queue further up may know (behaviour.md 8.3).
func ResolveGroup(list []Limit, groups []string) (group string, ok bool) {
	hasWildcard := false
	for _, r := range list {
		for _, g := range r.Groups {
			if g == Wildcard {
				hasWildcard = true
			} else if slices.Contains(groups, g) {
				return g, true
			}
		}
	}
	return Wildcard, hasWildcard
}

func firstLimit(list []Limit, match func(Limit) bool) (Limit, bool) {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i], true
	}
	return Limit{}, false
}
