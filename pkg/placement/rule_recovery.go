package placement

import (
	"strconv"
	"strings"
)

// The queue of applications that run already and must be taken somewhere. It is made on
// demand; no access list opens it, and it takes nothing from templates (behaviour.md 7.6).
const (
	RecoveryQueue     = Root + "." + RecoveryQueueName
	RecoveryQueueName = "@recovery@" // the last part of Recovery
)

// recoveryStep is the rule that always comes last and is only for forced applications.
func recoveryStep() Step { return Step{Rule: "recovery", Outcome: Named, Path: RecoveryQueue} }

// createForceTag is the tag by which the RM says that an application is forced.
const createForceTag = "application.create.force"

// IsCreateForced reports whether the tags of an application say that it runs already and must
// be taken somewhere (behaviour.md 4.5).
func IsCreateForced(tags map[string]string) bool {
	for key, value := range tags {
		if yes, err := strconv.ParseBool(value); err == nil && yes && strings.EqualFold(key, createForceTag) {
			return true
		}
	}
	return false
}
