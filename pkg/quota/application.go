package quota

import "github.com/canopy-scheduler/canopy/pkg/security"

// Application is the quota side of an application: the user and the leaf for which its asks and allocations
// count.
type Application struct {
	leaf *Queue
	user security.User
}

// Init makes a the quota side of an application of user in leaf.
func (a *Application) Init(user security.User, leaf *Queue) { a.user, a.leaf = user, leaf }

// User is the submitting user, with groups.
func (a *Application) User() security.User { return a.user }
