package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/explain"
)

// Pauses are the times until which nothing is placed in a partition, whatever could be. They are those of the owner of
// a Core, which then does not call Schedule; the Core does not know them.
type Pauses struct {
	Recovery      time.Time // when a recovery after a registration is over, at the latest (RMI-80); zero: there is none
	PlacementRate time.Time // when the rate limit of placements allows more (RMI-82); zero: it does now
}

// AddPauses adds what the owner of the Core knows to the explanation of a pending ask: each pause is a closed gate
// behind that of the resource manager, and a clause of the sentence (EXP-19).
func (e *Explanation) AddPauses(p Pauses) {
	if e.State != KeyPending {
		return
	}
	var gates []explain.Gate
	if !p.Recovery.IsZero() {
		gates = append(gates, explain.Pause(explain.Recovery, p.Recovery))
	}
	if !p.PlacementRate.IsZero() {
		gates = append(gates, explain.Pause(explain.PlacementRate, p.PlacementRate))
	}
	e.Gates = slices.Insert(e.Gates, 1, gates...)
	e.Message = e.String()
}

// AddPauses adds the pauses to the explanation of each group.
func (e *ApplicationExplanation) AddPauses(p Pauses) {
	for _, g := range e.Groups {
		g.First.AddPauses(p)
	}
}

// pausesText is a clause for each pause; empty: there is none.
func (e *Explanation) pausesText() (text string) {
	for _, g := range e.Gates {
		if g.Kind == explain.Recovery || g.Kind == explain.PlacementRate {
			text += "; " + g.Message
		}
	}
	return text
}
