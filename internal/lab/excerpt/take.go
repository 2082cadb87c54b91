package excerpt

import (
	"fmt"
	"io"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Target is the effect that an Excerpt ends with.
type Target struct {
	Text  string // as a line of the excerpt
	Panic bool   // the scheduler panics with this text instead
}

// NotFoundError says that the window of a recording has no such effect.
type NotFoundError struct {
	Steps int // that were looked through
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("none of the %d steps in the window has such an effect", e.Steps)
}

// DifferenceError says that this version of Canopy decides otherwise than the recorded one before the effect.
type DifferenceError struct{ playback.Difference }

func (e *DifferenceError) Error() string { return e.Difference.String() }

// Take takes the steps of a session up to the last effect in the window that matches. With a nil match it is a panic of
// the scheduler. The error is a *NotFoundError, a *DifferenceError, or that of the recording.
func Take(s recording.Session, w playback.Window, match func(scheduler.Effect) bool) (*Excerpt, Target, error) {
	r, err := s.Open()
	if err != nil {
		return nil, Target{}, err
	}
	defer r.Close()
	t := taking{window: w, match: match, current: Excerpt{begin: recording.EncodeBegin(r.Begin)}}
	t.player.Begin(r.Begin)
	for {
		x, err := r.Next()
		switch {
		case err == io.EOF:
			return t.result()
		case err != nil:
			return nil, Target{}, err
		case !w.To.IsZero() && x.At.After(w.To):
			return t.result()
		}
		if err := t.step(x, r.Segment()); err != nil {
			return nil, Target{}, err
		}
	}
}

// taking has the steps up to the last effect that matches.
type taking struct {
	window  playback.Window
	match   func(scheduler.Effect) bool
	player  playback.Player
	current Excerpt
	looked  int

	found  *Excerpt // nil: none
	target Target
}

// step takes a step. The error is a *DifferenceError.
func (t *taking) step(s *recording.Step, segment string) error {
	taken := step{at: s.At, budget: s.Budget, answers: s.Answers}
	if s.Command != nil {
		taken.command, taken.about = recording.EncodeCommand(s.Command), subjectOf(s.Command)
	}
	t.current.steps = append(t.current.steps, taken)
	made := t.player.Make(s)
	if made.Difference != "" {
		return &DifferenceError{playback.Difference{
			Step: s.Number, At: s.At, Segment: segment, Input: s.String(), Text: made.Difference,
			Effects: playback.Texts(made.Effects), Panic: made.Panic,
		}}
	}
	if !t.window.Covers(s.At) {
		return nil
	}
	t.looked++
	if made.Panic != "" {
		if t.match == nil {
			t.take(Target{firstLine(made.Panic), true})
		}
		return nil
	}
	for i, e := range made.Effects {
		if t.match != nil && t.match(e) {
			t.take(Target{Text: lines(made.Effects[i : i+1])[0]})
		}
	}
	return nil
}

func (t *taking) take(target Target) {
	found := t.current
	found.steps = slices.Clip(found.steps)
	t.found, t.target = &found, target
}

func (t *taking) result() (*Excerpt, Target, error) {
	if t.found == nil {
		return nil, Target{}, &NotFoundError{t.looked}
	}
	return t.found, t.target, nil
}
