package twin

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// interrupt has the RM of some runs not listen for a while, or again and again: for a few beats,
// or for longer than anything times out. It comes after everything else that is drawn, so that the
// same seed means what it meant without it.
func (s *Story) interrupt(source rand.Source) {
	r := rand.New(source)
	if r.IntN(4) > 0 || len(s.Beats) == 0 {
		return
	}
	for range 1 + r.IntN(4) {
		from := r.IntN(len(s.Beats))
		until := min(from+1+r.IntN(30), len(s.Beats))
		again := Beat{Command: scheduler.SetListening{Listening: true}}
		if r.IntN(3) == 0 {
			again.After = time.Duration(r.IntN(10)) * time.Minute
		}
		s.Beats = slices.Insert(s.Beats, until, again)
		s.Beats = slices.Insert(s.Beats, from, Beat{Command: scheduler.SetListening{}})
	}
}
