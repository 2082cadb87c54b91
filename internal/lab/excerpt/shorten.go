package excerpt

import (
	"errors"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
)

// ErrAnswers says that an excerpt cannot be shortened: its target depends on answers of the resource manager that have
// changed.
var ErrAnswers = errors.New("the resource manager has answered differently about the same ask and node, and the " +
	"effect depends on that: nothing can be left out")

// Shortening says how an Excerpt is shortened.
type Shortening struct {
	MaxReplays int                      // how many are made at most
	Progress   func(replays, steps int) // is called after each replay with the number of steps that are left; nil: not
}

// Shorten is an excerpt that ends with the same effect, of as few steps and queues as are found, and of simpler ones.
// No single one of them can be left out, unless MaxReplays were made (complete is false). e stays as it is. The error
// is ErrAnswers, and then out is e.
func (e *Excerpt) Shorten(target Target, how Shortening) (out *Excerpt, complete bool, err error) {
	s := shortening{Shortening: how, target: target}
	if s.best, err = s.fixAnswers(e); err != nil {
		return e, false, err
	}
	for changed := true; changed && !s.exhausted(); {
		before := *s.best
		s.pin()
		s.simplifyInputs()
		s.leaveOut(groups(s.best.steps, func(x step) string { return x.about.node }))
		s.leaveOut(groups(s.best.steps, func(x step) string { return x.about.application }))
		s.leaveOut(groups(s.best.steps, func(step) string { return "" }))
		s.simplifyConfigs()
		changed = before.Len() != s.best.Len() || !slices.Equal(before.begin, s.best.begin)
	}
	return s.best, !s.exhausted(), nil
}

// shortening is the state of Shorten.
type shortening struct {
	Shortening
	target  Target
	best    *Excerpt
	replays int
}

func (s *shortening) exhausted() bool { return s.replays >= s.MaxReplays }

// try reports whether an excerpt leads to the target, and takes it if so, up to the target.
func (s *shortening) try(e *Excerpt) bool {
	if s.exhausted() {
		return false
	}
	s.replays++
	i := e.find(s.target)
	if i >= 0 {
		e.steps = e.steps[:i+1]
		s.best = e
	}
	if s.Progress != nil {
		s.Progress(s.replays, s.best.Len())
	}
	return i >= 0
}

// find is the index of the first step that has the target; -1: none has.
func (e *Excerpt) find(target Target) int {
	at := -1
	err := e.replay(nil, func(i int, p playback.Played) bool {
		if p.Panic != "" {
			if target.Panic && firstLine(p.Panic) == target.Text {
				at = i
			}
			return false
		}
		if !target.Panic && slices.Contains(lines(p.Effects), target.Text) {
			at = i
		}
		return at < 0
	})
	if err != nil {
		return -1
	}
	return at
}

// fixAnswers is the excerpt with answers of the Oracle that do not change: questions are others when steps are left
// out.
func (s *shortening) fixAnswers(e *Excerpt) (*Excerpt, error) {
	first, last, ever := map[question]bool{}, map[question]bool{}, map[question]bool{}
	if e.fits != nil {
		first = e.fits
	} else if err := e.replay(func(q question, is bool) {
		if _, asked := first[q]; !asked {
			first[q], ever[q] = is, true
		}
		last[q], ever[q] = is, ever[q] && is
	}, func(_ int, p playback.Played) bool { return p.Panic == "" }); err != nil {
		return nil, err
	}
	for _, answers := range []map[question]bool{last, ever, first} {
		fixed := e.clone()
		fixed.fits = answers
		s.best = fixed
		if s.try(fixed) {
			return fixed, nil
		}
	}
	return nil, ErrAnswers
}

// groups are the indexes of steps about the same, and of those about nothing one by one.
func groups(steps []step, about func(step) string) (units [][]int) {
	of := map[string]int{}
	for i, x := range steps {
		name := about(x)
		if name == "" {
			units = append(units, []int{i})
			continue
		}
		n, ok := of[name]
		if !ok {
			n = len(units)
			of[name] = n
			units = append(units, nil)
		}
		units[n] = append(units[n], i)
	}
	return units
}

// leaveOut leaves out units of the steps: halves, then quarters, and so on, and in the end one by one until none can
// be.
func (s *shortening) leaveOut(units [][]int) {
	steps := s.best.steps
	without := func(units [][]int) bool {
		var kept []int
		for _, u := range units {
			kept = append(kept, u...)
		}
		slices.Sort(kept)
		e := s.best.clone()
		e.steps = e.steps[:0]
		for _, i := range kept {
			e.steps = append(e.steps, steps[i])
		}
		return s.try(e)
	}
	reduce(units, without)
}

// reduce leaves out as many units as it can: is reports whether those that it gets suffice.
func reduce[T any](units []T, suffice func([]T) bool) {
	for size := (len(units) + 1) / 2; size > 0; {
		removed := false
		for i := 0; i < len(units); {
			rest := slices.Concat(units[:i], units[min(i+size, len(units)):])
			if suffice(rest) {
				units, removed = rest, true
			} else {
				i += size
			}
		}
		if size > 1 || !removed {
			size /= 2
		}
	}
}
