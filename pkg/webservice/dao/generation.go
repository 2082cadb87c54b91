package dao

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Generation is a generation of the configuration. Ours: YuniKorn keeps only the one in force.
type Generation struct {
	Generation  uint64    `json:"generation"`
	Active      bool      `json:"active"` // in force
	Checksum    string    `json:"checksum"`
	Time        time.Time `json:"time"` // RFC 3339
	Source      string    `json:"source"`
	From        string    `json:"from,omitempty"`
	PauseMicros int64     `json:"pauseMicroseconds"` // how long no partition made decisions
	Summary     string    `json:"summary,omitempty"` // of the changes, in words
}

// GenerationDetail is Generation with the text of the configuration.
type GenerationDetail struct {
	Generation
	Text    string            `json:"text"`
	Extra   map[string]string `json:"extra,omitempty"`
	Changes *diff.Change      `json:"changes,omitempty"` // from the generation before, if that is kept
}

// Reload answers a change of the configuration.
type Reload struct {
	Generation
	Changed  bool                `json:"changed"` // false: this text was in force already
	Changes  *diff.Change        `json:"changes,omitempty"`
	Warnings validation.Problems `json:"warnings"`
	// NotStored says why the change, which is in force, could not be stored and would be lost in a
	// restart (OBS-81). Missing: it was stored, or there is no store.
	NotStored string `json:"notStored,omitempty"`
}

// InvalidConfig is an Error with all problems, as canopy validate lists them.
type InvalidConfig struct {
	Error
	Generation uint64              `json:"generation"` // still in force
	Problems   validation.Problems `json:"problems"`
}

// NewGeneration shows g. current is the generation in force.
func NewGeneration(g, current *reload.Generation) Generation {
	body := Generation{
		Generation: g.Number, Active: g.Number == current.Number, Checksum: g.Checksum, Time: g.At.UTC(),
		Source: string(g.Source), From: g.From, PauseMicros: g.Paused.Microseconds(),
	}
	if g.Changes != nil {
		body.Summary = g.Changes.Summary()
	}
	return body
}
