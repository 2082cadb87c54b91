package webservice

import (
	"time"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// generationBody is a configuration that was accepted. Ours: upstream remembers only the
// one in force.
type generationBody struct {
	Generation  uint64    `json:"generation"`
	Active      bool      `json:"active"` // in force
	Checksum    string    `json:"checksum"`
	Time        time.Time `json:"time"` // RFC 3339
	Source      string    `json:"source"`
	From        string    `json:"from,omitempty"`
	PauseMicros int64     `json:"pauseMicroseconds"` // how long no partition decided
	Summary     string    `json:"summary,omitempty"` // of what changed, in words
}

// generationDetail is generationBody with what was accepted.
type generationDetail struct {
	generationBody
	Text    string            `json:"text"`
	Extra   map[string]string `json:"extra,omitempty"`
	Changes *configs.Change   `json:"changes,omitempty"` // against the generation before, if that is known
}

// reloadBody answers who changed the configuration.
type reloadBody struct {
	generationBody
	Changed  bool             `json:"changed"` // false: it was in force before
	Changes  *configs.Change  `json:"changes,omitempty"`
	Warnings configs.Problems `json:"warnings"`
	// StoreError is why the change is in force but will not survive a restart. Missing: it will,
	// as far as anything does.
	NotStored string `json:"notStored,omitempty"`
}

// invalidConfigBody is an errorBody that lists what is wrong, as canopy validate does.
type invalidConfigBody struct {
	errorBody
	Generation uint64           `json:"generation"` // still in force
	Problems   configs.Problems `json:"problems"`
}

func viewGeneration(g, current *reload.Generation) generationBody {
	body := generationBody{
		Generation: g.Number, Active: g.Number == current.Number, Checksum: g.Checksum, Time: g.At.UTC(),
		Source: string(g.Source), From: g.From, PauseMicros: g.Paused.Microseconds(),
	}
	if g.Changes != nil {
		body.Summary = g.Changes.Summary()
	}
	return body
}
