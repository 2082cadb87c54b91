package twin

import (
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// maySubmit reports whether a submit ACL of one of the queues along path has the user, or a group of
// the user (ACL-7). ACLs are read as text, word by word.
func (t *Twin) maySubmit(path objects.QueuePath, u security.User) bool {
	for _, q := range t.pathQueues(path) {
		if inACL(q.conf.SubmitACL.String(), u) || inACL(q.conf.AdminACL.String(), u) {
			return true
		}
	}
	return false
}

func inACL(list string, u security.User) bool {
	if list == "*" {
		return true
	}
	users, groups, _ := strings.Cut(list, " ")
	for _, g := range u.Groups {
		if slices.Contains(strings.Split(groups, ","), g) {
			return true
		}
	}
	return slices.Contains(strings.Split(users, ","), u.Name)
}

// isRecoveryQueue reports whether path is the recovery queue or below it, to which no placement rule
// leads (PLC-30).
func isRecoveryQueue(path objects.QueuePath) bool {
	return path == placement.RecoveryQueue || strings.HasPrefix(string(path), placement.RecoveryQueue+".")
}
