package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// PreemptionList has the latest preemptions of a partition. It is ours: YuniKorn keeps no history of preemptions
// (PRE-109 to PRE-111).
type PreemptionList struct {
	Total      uint64 `json:"total"`      // since the partition was created
	Remembered int    `json:"remembered"` // how many of them are kept
	// confirmed preemptions of unknown allocations, since then
	UnknownConfirmations uint64 `json:"unknownConfirmations"`
	// pairs of leaf queues that do not preempt each other for now
	CoolDowns   []CoolDown              `json:"coolDowns"`
	Preemptions []preemption.Preemption `json:"preemptions"` // without candidates
}

// CoolDown is the time in which two leaf queues do not preempt each other.
type CoolDown struct {
	// twice the same: the leaf queue does not preempt its own allocations
	QueueNames [2]objects.QueuePath `json:"queueNames"`
	Since      objects.Timestamp    `json:"since"`
	Until      objects.Timestamp    `json:"until"`
}

// NewCoolDowns shows the cool-downs of a list.
func NewCoolDowns(list []preemption.CoolDown) []CoolDown {
	out := make([]CoolDown, len(list))
	for i, p := range list {
		out[i] = CoolDown{[2]objects.QueuePath{p.A, p.B}, objects.TimestampOf(p.Since), objects.TimestampOf(p.Until)}
	}
	return out
}
