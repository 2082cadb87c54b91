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
	Steps   int // that were looked through
	Without int // steps in the window that cannot be made: what was recorded since a start of the scheduler is incomplete
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("none of the %d steps in the window has such an effect", e.Steps)
	if e.Without > 0 {
		text += fmt.Sprintf("; %d more cannot be made, because an excerpt needs all steps since a start, and there are "+
			"segments or steps missing", e.Without)
	}
	return text
}

// DifferenceError says that this version of Canopy decides otherwise than the recorded one before the effect.
type DifferenceError struct{ playback.Difference }

func (e *DifferenceError) Error() string { return e.Difference.String() }

// Take takes the steps up to the last effect in the window that matches, from where a replay can begin. With a nil
// match it is a panic of the scheduler. The error is a *NotFoundError, a *DifferenceError, or that of the recording.
func Take(s recording.Session, w playback.Window, match func(scheduler.Effect) bool) (*Excerpt, Target, error) {
	t := taking{window: w, match: match}
	start, err := playback.Start(s, w.From, false)
	if err != nil {
		return nil, Target{}, err
	}
	r := s.Open()
	defer r.Close()
	for i := 0; ; i++ {
		x, err := r.Next()
		switch {
		case err == io.EOF:
			return t.result()
		case err != nil:
			return nil, Target{}, err
		case i < start:
		case x.Begin != nil:
			t.begin(x.Begin)
		case x.Gap != nil:
			t.player.Interrupt()
		case x.Step != nil:
			if !w.To.IsZero() && x.Step.At.After(w.To) {
				return t.result()
			}
			if err := t.step(x.Step, r.Segment()); err != nil {
				return nil, Target{}, err
			}
		}
	}
}

// taking are the steps since the last Begin, and up to the last effect that matches.
type taking struct {
	window  playback.Window
	match   func(scheduler.Effect) bool
	player  playback.Player
	current Excerpt
	looked  int
	without int // steps in the window before which something is missing

	found  *Excerpt // nil: none
	target Target
}

func (t *taking) begin(b *recording.Begin) {
	t.current = Excerpt{begin: recording.EncodeBegin(b)}
	t.player.Begin(b)
}

// step takes a step. The error is a *DifferenceError.
func (t *taking) step(s *recording.Step, segment string) error {
	if !t.player.Ready() {
		if t.window.Covers(s.At) {
			t.without++
		}
		return nil
	}
	taken := step{at: s.At, budget: s.Budget, answers: slices.Clone(s.Answers)}
	if s.Command != nil {
		taken.command, taken.about = recording.EncodeCommand(s.Command), subjectOf(s.Command)
	}
	t.current.steps = append(t.current.steps, taken)
	made := t.player.Make(s)
	if made.Difference != "" {
		return &DifferenceError{playback.Difference{
			Step: s.Number, At: s.At, Segment: segment, Input: s.Describe(), Text: made.Difference,
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
		return nil, Target{}, &NotFoundError{t.looked, t.without}
	}
	return t.found, t.target, nil
}
