package twin

import "slices"

// maxReplays bounds how often a failing run is executed to shorten it.
const maxReplays = 600

// Shorten removes steps of a failing run as long as it still fails, with any difference, and returns
// the rest with its failure. Executing s must fail with f.
func (s Run) Shorten(f *Failure, execute func(Run) *Failure) (Run, *Failure) {
	s.Steps = s.Steps[:f.StepIndex+1]
	replays := 0
	for size := len(s.Steps) / 2; size > 0; size /= 2 {
		for from := 0; from < len(s.Steps) && replays < maxReplays; replays++ {
			shorter := s.without(from, size)
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

// without is the run without some steps, but with their time.
func (s Run) without(from, n int) Run {
	to := min(from+n, len(s.Steps))
	kept := slices.Concat(s.Steps[:from], s.Steps[to:])
	for _, b := range s.Steps[from:to] {
		if from < len(kept) {
			kept[from].After += b.After
		}
	}
	s.Steps = kept
	return s
}
