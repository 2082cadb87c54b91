// Package limits holds the configured bounds on what users and groups may use in a
// queue. Keeping their accounts is the ledger's business (package objects) once
// limits are enforced; reading them from text is package configs'.
//
// The rule that must hold: a Rule is valid by construction; nobody checks it again.
package limits

import "github.com/canopy-scheduler/canopy/pkg/resources"

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
