package randomrun

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// addRefusals makes nodes refuse allocations in some runs. It draws after everything else, so that the rest of a run
// does not depend on it.
func (s *Run) addRefusals(source rand.Source) {
	r := rand.New(source)
	if r.IntN(3) == 0 {
		s.AddRefusals(r, 4+r.IntN(40))
	}
}

// AddRefusals inserts count releases of asks that were sent before, because their node has refused them; most of the
// asks are sent again.
func (s *Run) AddRefusals(r *rand.Rand, count int) {
	settings := func() refusals.Settings {
		first := time.Duration(1+r.IntN(20)) * time.Second
		return refusals.Settings{Backoff: first, MaxBackoff: first << r.IntN(4), Asks: 1 + r.IntN(4)}
	}
	s.Partition.NodeRefusal = settings()
	for i, b := range s.Steps {
		if c, ok := b.Command.(scheduler.UseConfig); ok {
			c.Partition.NodeRefusal = settings()
			s.Steps[i].Command = c
		}
	}
	for range count {
		at := r.IntN(len(s.Steps))
		ask, again := s.askBefore(r, at)
		if ask == nil {
			continue
		}
		release := scheduler.Release{App: ask.App, Key: ask.Key, Type: scheduler.StoppedByRM, NodeRefused: true,
			Message: "volume cannot be attached"}
		if r.IntN(20) == 0 {
			release.Key = ""
		}
		steps := []Step{{Command: release}}
		if r.IntN(5) > 0 {
			steps = append(steps, Step{Command: again})
		}
		s.Steps = slices.Insert(s.Steps, at, append(steps, Step{Budget: 1 + r.IntN(10)})...)
	}
}

// askBefore returns one of the last asks that were sent before a step, and its command; nil: there is none.
func (s *Run) askBefore(r *rand.Rand, step int) (*objects.Ask, scheduler.Command) {
	var asks []*objects.Ask
	var sent []scheduler.Command
	for i := step - 1; i >= 0 && len(asks) < 12; i-- {
		switch c := s.Steps[i].Command.(type) {
		case scheduler.SubmitAsk:
			asks, sent = append(asks, c.Ask), append(sent, c)
		case scheduler.SubmitAskWithClass:
			asks, sent = append(asks, c.Ask), append(sent, c)
		}
	}
	if len(asks) == 0 {
		return nil, nil
	}
	i := r.IntN(len(asks))
	return asks[i], sent[i]
}
