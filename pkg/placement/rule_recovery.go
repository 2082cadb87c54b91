package placement

import (
	"strconv"
	"strings"
)

// The recovery queue, for forced applications that no rule places (PLC-28, PLC-29). It is created on demand, no access
// list opens it, and no child template applies to it.
const (
	RecoveryQueue     = Root + "." + RecoveryQueueName
	RecoveryQueueName = "@recovery@" // the last level of RecoveryQueue
)

// recoveryStep returns the step of the recovery queue, which comes last and is for forced applications only.
func recoveryStep() Step { return Step{Rule: "recovery", Outcome: Named, Path: RecoveryQueue} }

// createForceTag is the tag of forced applications.
const createForceTag = "application.create.force"

// IsCreateForced reports whether the tags of an application make it forced: it runs already and must be accepted
// (PLC-27).
func IsCreateForced(tags map[string]string) bool {
	for key, value := range tags {
		if yes, err := strconv.ParseBool(value); err == nil && yes && strings.EqualFold(key, createForceTag) {
			return true
		}
	}
	return false
}
