package scheduler

import (
	"cmp"
	"errors"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Rejection is a stable code for the kind of reason for which an ask or an allocation was rejected: one of
// those below, or a reason of package priorities, such as exceeded-class-quota (ASK-10).
type Rejection string

// The kinds that are not about priority classes.
const (
	RejectedUnknownApplication Rejection = "unknown-application"     // not submitted, or ended
	RejectedUnknownNode        Rejection = "unknown-node"            // of a reported or foreign allocation
	RejectedDuplicateKey       Rejection = "duplicate-key"           // the key is of another application or foreign
	RejectedAmounts            Rejection = "invalid-amounts"         // nothing requested, or a negative quantity
	RejectedOverflow           Rejection = "amounts-overflow"        // the sums of quantities would exceed 64 bits
	RejectedNames              Rejection = "too-many-resource-names" // no more resource names can be registered
	// a known key with another priority, task group or node
	RejectedContradiction Rejection = "changed-content"
	// no task group of a placeholder, a placeholder beside virtual ones, or unreadable
	RejectedMalformed  Rejection = "malformed"
	RejectedConstraint Rejection = "invalid-constraint" // a node selector, affinity or toleration
	RejectedPartition  Rejection = "unknown-partition"
	RejectedOther      Rejection = "other"
)

// apiRejection is a rejection that the API decided before the ask reached the Core.
type apiRejection struct {
	kind Rejection
	text string
}

// Error implements error.
func (r apiRejection) Error() string { return r.text }

// rejectionOf is the kind of rejection of an ask, or of an allocation on a known node (ASK-10).
func rejectionOf(err error) Rejection {
	problem, known := new(priorities.Problem), apiRejection{}
	switch {
	case errors.As(err, &known):
		return cmp.Or(known.kind, RejectedOther)
	case errors.As(err, &problem):
		return Rejection(problem.Reason)
	case errors.Is(err, objects.ErrUnknown):
		return RejectedUnknownApplication
	case errors.Is(err, objects.ErrExists):
		return RejectedDuplicateKey
	case errors.Is(err, objects.ErrNegative), errors.Is(err, objects.ErrNoResources):
		return RejectedAmounts
	case errors.Is(err, objects.ErrOverflow):
		return RejectedOverflow
	case errors.As(err, new(resources.NameBoundError)):
		return RejectedNames
	case errors.As(err, new(contradictionError)):
		return RejectedContradiction
	case errors.As(err, new(constraintError)):
		return RejectedConstraint
	case errors.Is(err, errNoTaskGroup), errors.Is(err, objects.ErrVirtualPlaceholders),
		errors.Is(err, objects.ErrMemberConstraints):
		return RejectedMalformed
	}
	return RejectedOther
}

// foreignRejectionOf is the kind of rejection of a foreign allocation, which belongs to no application (ASK-57).
func foreignRejectionOf(err error) Rejection {
	if errors.Is(err, objects.ErrUnknown) {
		return RejectedUnknownNode
	}
	return rejectionOf(err)
}
