package twin

import "slices"

// mostReplays bounds how often a failing story is told again to make it shorter.
const mostReplays = 600

// Shorten leaves beats out of a failing story for as long as it still fails, whatever
// with, and returns what is left with its failure. Requires: telling s gives f.
func (s Story) Shorten(f *Failure, tell func(Story) *Failure) (Story, *Failure) {
	s.Beats = s.Beats[:f.Step+1]
	replays := 0
	for size := len(s.Beats) / 2; size > 0; size /= 2 {
		for from := 0; from < len(s.Beats) && replays < mostReplays; replays++ {
			shorter := s.without(from, size)
			if g := tell(shorter); g != nil {
				s, f = shorter, g
				s.Beats = s.Beats[:g.Step+1]
			} else {
				from += size
			}
		}
	}
	return s, f
}

// without is the story with some beats left out, but not their time.
func (s Story) without(from, n int) Story {
	to := min(from+n, len(s.Beats))
	kept := slices.Concat(s.Beats[:from], s.Beats[to:])
	for _, b := range s.Beats[from:to] {
		if from < len(kept) {
			kept[from].After += b.After
		}
	}
	s.Beats = kept
	return s
}
