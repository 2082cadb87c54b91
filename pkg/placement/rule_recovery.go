package placement

import (
	"strconv"
	"strings"
)

// The queue of applications that run already and must be taken somewhere. It is made on
// demand; no access list opens it, and it takes nothing from templates (behaviour.md 7.6).
const (
	Recovery     = Root + "." + RecoveryName
	RecoveryName = "@recovery@" // the last part of Recovery
)

// recovered is the rule that always comes last and is only for forced applications.
func recovered() Step { return Step{Rule: "recovery", Outcome: Named, Path: Recovery} }

// createForce is the tag by which the RM says that an application is forced.
const createForce = "application.create.force"

// IsForced reports whether the tags of an application say that it runs already and must
// be taken somewhere (behaviour.md 4.5).
func IsForced(tags map[string]string) bool {
	for key, value := range tags {
		if yes, err := strconv.ParseBool(value); err == nil && yes && strings.EqualFold(key, createForce) {
			return true
		}
	}
	return false
}
