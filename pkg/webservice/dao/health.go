package dao

import "time"

// Health answers /healthz.
type Health struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason,omitempty"`
}

// HealthCheck has the keys of YuniKorn, capital letters included (OBS-51).
type HealthCheck struct {
	Healthy      bool    `json:"Healthy"`
	HealthChecks []Check `json:"HealthChecks"`
	Audits       []Audit `json:"Audits,omitempty"` // ours: the last audit of each partition
}

// Audit is the result of the last audit of the accounting of a partition. YuniKorn has none.
type Audit struct {
	Partition   string     `json:"Partition"`
	Finished    *time.Time `json:"Finished,omitempty"` // RFC 3339; missing: no audit has finished yet
	AgeSeconds  *float64   `json:"AgeSeconds,omitempty"`
	TookSeconds float64    `json:"TookSeconds,omitempty"`
	Objects     int        `json:"Objects,omitempty"`
	Error       string     `json:"Error,omitempty"` // missing: the accounting is consistent
}

// Check is one check of the health of the scheduler.
type Check struct {
	Name             string `json:"Name"`
	Succeeded        bool   `json:"Succeeded"`
	Description      string `json:"Description"`
	DiagnosisMessage string `json:"DiagnosisMessage"`
}

// Ready answers /readyz.
type Ready struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}
