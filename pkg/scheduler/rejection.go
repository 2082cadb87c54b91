package scheduler

import (
	"cmp"
	"errors"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Rejection is a stable code for the kind of reason for which an ask or an allocation was
// rejected. There are few: those below, and the reasons of package priorities, such as
// exceeded-class-quota.
type Rejection string

// The kinds that are not about priority classes.
const (
	RejectedUnknownApplication Rejection = "unknown-application"     // it was not added, or has ended
	RejectedUnknownNode        Rejection = "unknown-node"            // of an allocation
	RejectedDuplicateKey       Rejection = "duplicate-key"           // the key belongs to another application, or is that of a foreign allocation
	RejectedAmounts            Rejection = "invalid-amounts"         // it asks for nothing, or for less
	RejectedOverflow           Rejection = "amounts-overflow"        // all quantities together cannot be counted
	RejectedNames              Rejection = "too-many-resource-names" // the partition cannot know one more
	RejectedMalformed          Rejection = "malformed"               // a placeholder without a task group; an element that the API cannot read
	RejectedPartition          Rejection = "unknown-partition"
	RejectedOther              Rejection = "other"
)

// apiRejection is what the API found before the ask reached the Core.
type apiRejection struct {
	kind Rejection
	text string
}

// Error is part of error.
func (r apiRejection) Error() string { return r.text }

// rejectionOf is the kind of reason of an ask, or of an allocation on a known node.
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
	case errors.Is(err, errNoTaskGroup):
		return RejectedMalformed
	}
	return RejectedOther
}

// foreignRejectionOf is the kind of reason of a foreign allocation. It belongs to no application.
func foreignRejectionOf(err error) Rejection {
	if errors.Is(err, objects.ErrUnknown) {
		return RejectedUnknownNode
	}
	return rejectionOf(err)
}
