// Package limits has the configured limits of users and groups (docs/behaviour/limits.md) and the class quotas of
// queues (QUO-34 to QUO-45), and finds the one that holds for a user or group. Package objects counts the
// accounts, package configs reads both from documents.
//
// The invariant: a Limit or a ClassQuota is valid by construction; nothing checks it again.
package limits

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

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

// ForUser is the limit of a queue that holds for a user: the first that names the user, or else the first with
// the wildcard. The two are not combined (LIM-2).
func ForUser(list []Limit, user string) (Limit, bool) {
	if r, ok := firstLimit(list, func(r Limit) bool { return slices.Contains(r.Users, user) }); ok {
		return r, true
	}
	return firstLimit(list, func(r Limit) bool { return slices.Contains(r.Users, Wildcard) })
}

// ForGroup is the limit of a queue that holds for a group. Wildcard is a group like any other here; ResolveGroup
// says which users count in it.
func ForGroup(list []Limit, group string) (Limit, bool) {
	return firstLimit(list, func(r Limit) bool { return slices.Contains(r.Groups, group) })
}

// ResolveGroup is the group that a user with these groups counts for in a queue: the first that a limit names and
// the user has, or else Wildcard if a limit names that (LIM-6, LIM-8). ok is false when no group limit applies; then
// the queue above decides.
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
