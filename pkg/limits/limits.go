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

// Rule bounds what the named users (each on their own) and groups (each as a pool)
// may use in one queue (behaviour.md 1.2.4, 8). At least one list is not empty.
type Rule struct {
	Description     string
	Users, Groups   []string
	MaxResources    resources.Limit // the zero value does not limit
	MaxApplications uint64          // 0: not limited
}

// OfUser is the rule of a queue that holds for a user: the first that names the user, else
// the first that names everybody. The two are not combined (behaviour.md 8.2).
func OfUser(rules []Rule, user string) (Rule, bool) {
	if r, ok := first(rules, func(r Rule) bool { return slices.Contains(r.Users, user) }); ok {
		return r, true
	}
	return first(rules, func(r Rule) bool { return slices.Contains(r.Users, Wildcard) })
}

// OfGroup is the rule of a queue that holds for a group. Wildcard is a group like any
// other: whoever counts as it is for GroupFor to say.
func OfGroup(rules []Rule, group string) (Rule, bool) {
	return first(rules, func(r Rule) bool { return slices.Contains(r.Groups, group) })
}

// GroupFor is the group that a user with these groups counts as in a queue: the first that
// a rule names and the user has, else Wildcard where a rule names that. ok is false when
// no rule is about any of them; then a queue further up may know (behaviour.md 8.3).
func GroupFor(rules []Rule, groups []string) (group string, ok bool) {
	wild := false
	for _, r := range rules {
		for _, g := range r.Groups {
			if g == Wildcard {
				wild = true
			} else if slices.Contains(groups, g) {
				return g, true
			}
		}
	}
	return Wildcard, wild
}

func first(rules []Rule, about func(Rule) bool) (Rule, bool) {
	if i := slices.IndexFunc(rules, about); i >= 0 {
		return rules[i], true
	}
	return Rule{}, false
}
