package playback

import (
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

// Result is what a replay of a session has shown.
type Result struct {
	Partition string    `json:"partition"`
	Began     time.Time `json:"began"`  // of the session
	Canopy    string    `json:"canopy"` // version that recorded it; empty: not known

	Steps       uint64          `json:"steps"`       // in the window
	Compared    uint64          `json:"compared"`    // of them; their effects are equal, but for those of Difference
	NotReplayed uint64          `json:"notReplayed"` // of them, because the recording is incomplete before
	Effects     uint64          `json:"effects"`     // of the steps that were compared
	First       time.Time       `json:"first"`       // time of the first step in the window; zero: there is none
	Last        time.Time       `json:"last"`        // and of the last one
	Gaps        []recording.Gap `json:"gaps"`
	// why the last state that was needed could not be used; empty: none was needed, or it was
	Unusable string `json:"unusable,omitempty"`
	// the end of the session was recorded: the scheduler was not killed. With Window.To, it is not known
	Ended bool `json:"ended"`

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

// Play replays a session, and ends with the first difference in the window or before. visit gets each step in the
// window; it may be nil. The error is that of the recording; see recording.Reader.
func Play(s recording.Session, w Window, visit func(Played)) (Result, error) {
	out := Result{Partition: s.Partition, Began: s.Began}
	start, err := Start(s, w.From, true)
	if err != nil {
		return out, err
	}
	r := s.Open()
	defer r.Close()
	var p Player
	for i := 0; ; i++ {
		x, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Canopy = max(out.Canopy, r.Canopy())
		switch {
		case i < start:
		case x.Begin != nil:
			p.Begin(x.Begin)
		case x.Checkpoint != nil:
			if err := p.Checkpoint(x.Checkpoint); err != nil {
				out.Unusable = err.Error()
			}
		case x.Gap != nil:
			p.Interrupt()
			out.Gaps = append(out.Gaps, *x.Gap)
		case x.Step != nil && !w.To.IsZero() && x.Step.At.After(w.To):
			return out, nil
		case x.Step != nil:
			made := p.Make(x.Step)
			out.add(w, made)
			if w.Covers(x.Step.At) && visit != nil {
				visit(made)
			}
			if made.Difference != "" {
				out.Difference = differenceOf(made, r.Segment())
				return out, nil
			}
		default:
			out.Ended = x.Mark == recording.EndMark
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
	if !made.Replayed {
		r.NotReplayed++
	}
	if made.Compared {
		r.Compared++
		r.Effects += uint64(len(made.Effects))
	}
}

func differenceOf(made Played, segment string) *Difference {
	return &Difference{
		Step: made.Step.Number, At: made.Step.At, Segment: segment, Input: made.Step.Describe(), Text: made.Difference,
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

// Start is the index of the item with which a replay of the steps since from begins: the last Begin before them, or,
// with checkpoints, the last Begin or Checkpoint that this program reads, or the first item.
func Start(s recording.Session, from time.Time, checkpoints bool) (start int, err error) {
	if from.IsZero() {
		return 0, nil
	}
	r := s.Open()
	defer r.Close()
	begin := 0
	for i := 0; ; i++ {
		x, err := r.Next()
		switch {
		case err == io.EOF:
			return start, nil
		case err != nil:
			return 0, err
		case x.Begin != nil, checkpoints && x.Checkpoint != nil && x.Checkpoint.Usable():
			begin = i
		case x.Step != nil && !x.Step.At.Before(from):
			return start, nil
		case x.Step != nil:
			start = begin
		}
	}
}
