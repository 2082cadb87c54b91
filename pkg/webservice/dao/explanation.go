package dao

import "github.com/canopy-scheduler/canopy/pkg/scheduler"

// Explanation explains the state of an ask or an allocation (OBS-39), and when it is expected to start.
type Explanation struct {
	scheduler.Explanation
	// when it is expected to start; missing: the request did not want it
	ExpectedStart *ExpectedStart `json:"expectedStart,omitempty"`
}

// UnknownKey is the 404 for a key that no ask and no allocation has now (OBS-44).
type UnknownKey struct {
	Error
	AllocationKey string `json:"allocationKey"`
	State         string `json:"state"` // unknown, or as far as history is kept: released, cancelled or rejected
	ApplicationID string `json:"applicationID,omitempty"`
	Since         int64  `json:"since,omitempty"`
}

// ApplicationExplanation explains the pending asks of an application (EXP-7).
type ApplicationExplanation struct {
	scheduler.ApplicationExplanation
	Groups     []AskGroupExplanation `json:"groups"` // of asks that wait for the same, in selection order
	MoreGroups int                   `json:"moreGroups,omitempty"`
}

// AskGroupExplanation is about pending asks with the same request, constraints, priority and task group.
type AskGroupExplanation struct {
	PendingAsks int          `json:"pendingAsks"`
	First       *Explanation `json:"first"` // the first of them
}

// NewApplicationExplanation is the answer of GET .../application/{application}/explain, without expected starts.
// Requires: the application is known.
func NewApplicationExplanation(e *scheduler.ApplicationExplanation) *ApplicationExplanation {
	body := &ApplicationExplanation{ApplicationExplanation: *e, Groups: []AskGroupExplanation{}, MoreGroups: e.MoreGroups}
	for _, group := range e.Groups {
		body.Groups = append(body.Groups, AskGroupExplanation{group.Pending, &Explanation{Explanation: *group.First}})
	}
	return body
}
