package randomrun

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// addListeningGaps disconnects the RM in some runs, once or repeatedly: for a few steps, or for longer
// than every timeout. It draws after everything else, so that the rest of a run does not depend on it.
func (s *Run) addListeningGaps(source rand.Source) {
	r := rand.New(source)
	if r.IntN(4) > 0 || len(s.Steps) == 0 {
		return
	}
	for range 1 + r.IntN(4) {
		from := r.IntN(len(s.Steps))
		until := min(from+1+r.IntN(30), len(s.Steps))
		again := Step{Command: scheduler.SetListening{Listening: true}}
		if r.IntN(3) == 0 {
			again.After = time.Duration(r.IntN(10)) * time.Minute
		}
		s.Steps = slices.Insert(s.Steps, until, again)
		s.Steps = slices.Insert(s.Steps, from, Step{Command: scheduler.SetListening{}})
	}
}
