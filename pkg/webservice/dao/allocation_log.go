package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// AskLog is a reason for which an ask was not placed. Tools of YuniKorn match on its text.
type AskLog struct {
	Message        string `json:"message,omitempty"`
	LastOccurrence int64  `json:"lastOccurrence,omitempty"`
	Count          int    `json:"count,omitempty"` // of a quota 1: the ask is not tried again while nothing changes
}

// Texts of YuniKorn about quotas.
const (
	notEnoughQueueQuota = "Not enough queue quota"
	notEnoughUserQuota  = "Not enough user quota"
)

// QuotaLog is the reason of an ask that a quota keeps from being placed; ok is false if none does (OBS-21).
func QuotaLog(w *scheduler.AllocationView) (reason AskLog, ok bool) {
	switch w.Waiting.Quota {
	case objects.QueueQuota:
		return AskLog{notEnoughQueueQuota, Nanos(w.Waiting.At), 1}, true
	case objects.UserQuota:
		return AskLog{notEnoughUserQuota, Nanos(w.Waiting.At), 1}, true
	}
	return AskLog{}, false
}
