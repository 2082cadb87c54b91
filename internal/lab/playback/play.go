package playback

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Window is a part of a recording by the times of its steps. The zero value is all of it.
type Window struct {
	From, To time.Time // inclusive; zero: from the beginning, to the end
}

// Covers reports whether a time is in the window.
func (w Window) Covers(at time.Time) bool {
	return !at.Before(w.From) && (w.To.IsZero() || !at.After(w.To))
}

// Result has what a replay of a session has shown.
type Result struct {
	Partition string    `json:"partition"`
	Began     time.Time `json:"began"`  // of the session
	Canopy    string    `json:"canopy"` // version that recorded it; empty: not known

	Steps    uint64    `json:"steps"`    // in the window
	Compared uint64    `json:"compared"` // of them; their effects are equal, but for those of Difference
	Effects  uint64    `json:"effects"`  // of the steps that were compared
	First    time.Time `json:"first"`    // time of the first step in the window; zero: there is none
	Last     time.Time `json:"last"`     // and of the last one
	// why steps are missing at the end; empty: none are, or the window ends before
	Incomplete string `json:"incomplete"`

	Difference *Difference `json:"difference"` // the first; the replay ends with it. nil: there is none
}

// Difference is a step whose effects differ.
type Difference struct {
	Step    uint64    `json:"step"`
	At      time.Time `json:"at"`
	Segment string    `json:"segment"`
	Input   string    `json:"input"`   // what the scheduler was called with
	Text    string    `json:"text"`    // what differs
	Effects []string  `json:"effects"` // that this version makes
	Panic   string    `json:"panic"`   // of this version; empty: none
}

func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d at %s in %s differs: %s\n  %s\n", d.Step, d.At.Format(time.RFC3339Nano), d.Segment, d.Text,
		d.Input)
	switch {
	case d.Panic != "":
		fmt.Fprintf(&b, "  this version of Canopy panics: %s\n", d.Panic)
	case len(d.Effects) == 0:
		b.WriteString("  this version of Canopy makes no effect\n")
	default:
		b.WriteString("  this version of Canopy makes these effects:\n")
	}
	for _, e := range d.Effects {
		fmt.Fprintf(&b, "    %s\n", e)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Play replays a session from its begin, and ends with the first difference. visit gets each step in the window; it may
// be nil. The error is that of the recording; see recording.Reader.
func Play(s recording.Session, w Window, visit func(Played)) (Result, error) {
	out := Result{Partition: s.Partition, Began: s.Began}
	r, err := s.Open()
	if errors.Is(err, recording.ErrNoBegin) {
		out.Incomplete = err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer r.Close()
	out.Canopy = r.Begin.Canopy
	var p Player
	p.Begin(r.Begin)
	for {
		x, err := r.Next()
		switch {
		case err == io.EOF:
			out.Incomplete = r.Incomplete()
			return out, nil
		case err != nil:
			return out, err
		case !w.To.IsZero() && x.At.After(w.To):
			return out, nil
		}
		made := p.Make(x)
		out.add(w, made)
		if w.Covers(x.At) && visit != nil {
			visit(made)
		}
		if made.Difference != "" {
			out.Difference = differenceOf(made, r.Segment())
			return out, nil
		}
	}
}

// add counts a step.
func (r *Result) add(w Window, made Played) {
	at := made.Step.At
	if !w.Covers(at) {
		return
	}
	if r.First.IsZero() {
		r.First = at
	}
	r.Last = at
	r.Steps++
	if made.Compared {
		r.Compared++
		r.Effects += uint64(len(made.Effects))
	}
}

func differenceOf(made Played, segment string) *Difference {
	return &Difference{
		Step: made.Step.Number, At: made.Step.At, Segment: segment, Input: made.Step.String(), Text: made.Difference,
		Effects: Texts(made.Effects), Panic: made.Panic,
	}
}

// Texts are effects as text.
func Texts(effects []scheduler.Effect) []string {
	texts := make([]string, len(effects))
	for i, e := range effects {
		texts[i] = e.String()
	}
	return texts
}
