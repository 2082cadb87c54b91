package twin

import "github.com/canopy-scheduler/canopy/internal/testing/randomrun"

// maxReplays bounds how often a failing run is executed to shorten it.
const maxReplays = 600

// Shorten removes steps of a failing run as long as it still fails, with any difference, and returns
// the rest with its failure. Executing s must fail with f.
func Shorten(s randomrun.Run, f *Failure, execute func(randomrun.Run) *Failure) (randomrun.Run, *Failure) {
	s.Steps = s.Steps[:f.StepIndex+1]
	replays := 0
	for size := len(s.Steps) / 2; size > 0; size /= 2 {
		for from := 0; from < len(s.Steps) && replays < maxReplays; replays++ {
			shorter := s.Without(from, size)
			if g := execute(shorter); g != nil {
				s, f = shorter, g
				s.Steps = s.Steps[:g.StepIndex+1]
			} else {
				from += size
			}
		}
	}
	return s, f
}
