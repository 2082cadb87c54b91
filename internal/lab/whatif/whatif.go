package whatif

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Comparison is a recorded run and the one of a scenario.
type Comparison struct {
	Partition string    `json:"partition"`
	From      time.Time `json:"from"` // of the recording, or of the part of it that is compared
	To        time.Time `json:"to"`
	Steps     uint64    `json:"steps"`

	Changes     []string `json:"changes"`     // what is other than recorded
	Assumptions []string `json:"assumptions"` // what the recording does not know
	Same        bool     `json:"same"`        // every ask started and ended at the same time in both

	Recorded Outcome  `json:"recorded"`
	Changed  Outcome  `json:"changed"`
	Series   []Series `json:"series"`
}

// ErrNothing is the error for a recording without an ask.
var ErrNothing = errors.New("no ask was recorded, or the recording is incomplete from its begin on")

// DifferenceError is the error for a recording of another version of Canopy, which decided otherwise.
type DifferenceError struct {
	Step uint64
	At   time.Time
	Text string
}

func (e *DifferenceError) Error() string {
	return fmt.Sprintf("step %d at %s: this version of Canopy does not make the recorded decisions: %s", e.Step,
		e.At.UTC().Format(time.RFC3339Nano), e.Text)
}

// Recorded is the part of a session that scenarios are compared with. It is read only, once it is made.
type Recorded struct {
	session recording.Session
	most    *part // the part with most asks
	parts   int
}

// Read makes the recorded decisions of a session, to learn what became of each ask. If resource managers have
// registered again in it, or if it has gaps, it takes the part with most asks. Errors: ErrNothing, and those of the
// recording; and *DifferenceError.
func Read(s recording.Session) (*Recorded, error) {
	parts, err := partsOf(s)
	if err != nil {
		return nil, err
	}
	var most *part
	for _, p := range parts {
		if len(p.recorded.all) > 0 && (most == nil || len(p.recorded.all) >= len(most.recorded.all)) {
			most = p
		}
	}
	if most == nil {
		return nil, fmt.Errorf("partition %s: %w", s.Partition, ErrNothing)
	}
	return &Recorded{s, most, len(parts)}, nil
}

// Compare is Read and a comparison, for one scenario.
func Compare(s recording.Session, scenario *Scenario, progress func(at time.Time)) (*Comparison, error) {
	recorded, err := Read(s)
	if err != nil {
		return nil, err
	}
	return recorded.Compare(scenario, progress)
}

// Compare runs a scenario. progress is called now and then with the time in the recording; nil: it is not. Errors:
// those of Read; and that a change of nodes concerns no node.
func (x *Recorded) Compare(scenario *Scenario, progress func(at time.Time)) (*Comparison, error) {
	most := x.most
	r := &run{
		scenario: scenario, history: newHistory(most.recorded, most.last), until: most.last,
		recorded: newTracker(), recordedSamples: newSamples(most.first, most.last),
		changed: newTracker(), samples: newSamples(most.first, most.last), nodes: newNodes(scenario.Nodes),
		removals: map[objects.AppID]bool{},
	}
	if err := r.makeSteps(x, progress); err != nil {
		return nil, err
	}
	if err := r.nodes.unmatched(); err != nil {
		return nil, err
	}
	end := most.last.Add(time.Nanosecond)
	r.recordedSamples.upTo(end, r.player.Core())
	r.samples.upTo(end, r.core)
	return &Comparison{
		Partition: x.session.Partition, From: most.first, To: most.last, Steps: most.steps,
		Changes: r.changes(), Assumptions: r.assumptions(x.parts), Same: same(r.recorded, r.changed),
		Recorded: outcomeOf(r.recorded, r.recordedSamples), Changed: outcomeOf(r.changed, r.samples),
		Series: seriesOf(r.recordedSamples, r.samples),
	}, nil
}

// makeSteps makes all steps of the part in both runs.
func (r *run) makeSteps(x *Recorded, progress func(at time.Time)) error {
	reader := x.session.Open()
	defer reader.Close()
	for i := 0; i < x.most.end; i++ {
		item, err := reader.Next()
		switch {
		case err != nil:
			return err
		case i < x.most.begin:
		case item.Begin != nil:
			err = r.begin(item.Begin)
		case item.Step != nil:
			err = r.step(item.Step)
			if progress != nil && item.Step.Number%progressSteps == 0 {
				progress(item.Step.At)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// progressSteps is after how many steps progress is reported.
const progressSteps = 10_000

// part is a part of a session that begins with an empty partition and has no gap.
type part struct {
	begin, end  int // items
	steps       uint64
	first, last time.Time
	recorded    *tracker
}

// partsOf makes the recorded decisions of a session once, to learn what became of each ask.
func partsOf(s recording.Session) (parts []*part, err error) {
	r := s.Open()
	defer r.Close()
	var current *part
	var player playback.Player
	for i := 0; ; i++ {
		x, err := r.Next()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case x.Gap != nil:
			player.Interrupt()
			current = nil
		case x.Begin != nil:
			if core := player.Core(); current == nil || core != nil && core.Partition().Reservations().NodeCount() > 0 {
				current = &part{begin: i, end: i, recorded: newTracker()}
				parts = append(parts, current)
			}
			player.Begin(x.Begin)
		case x.Step != nil && !x.Step.Done:
			current = nil // the recording ends in it, or the scheduler has panicked in it, as the changed one would
		case x.Step != nil && current != nil:
			if current.steps == 0 {
				current.first = x.Step.At
			}
			current.steps++
			current.last, current.end = x.Step.At, i+1
			if x.Step.Command != nil {
				current.recorded.command(x.Step.Command, x.Step.At)
			}
			made := player.Make(x.Step)
			if made.Difference != "" {
				return nil, &DifferenceError{x.Step.Number, x.Step.At, made.Difference}
			}
			current.recorded.effects(made.Effects, x.Step.At)
		}
	}
}

// same reports whether all requests of both runs began and ended at the same times.
func same(a, b *tracker) bool {
	if len(a.all) != len(b.all) {
		return false
	}
	for i, x := range a.all {
		y := b.all[i]
		if x.key != y.key || !x.started.Equal(y.started) || !x.ended.Equal(y.ended) || !x.releasing.Equal(y.releasing) {
			return false
		}
	}
	return true
}

// changes are what is other than recorded, in words.
func (r *run) changes() (out []string) {
	s := r.scenario
	if s.Config != nil {
		out = append(out, "another configuration")
	}
	for _, c := range s.Nodes {
		if c.Count > 0 {
			out = append(out, fmt.Sprintf("%d more nodes like %s", c.Count, c.Like))
		} else {
			out = append(out, fmt.Sprintf("%d nodes like %s less", -c.Count, c.Like))
		}
	}
	if s.WithoutPreemption {
		out = append(out, "no preemption")
	}
	if out == nil {
		out = []string{"nothing"}
	}
	return out
}

// assumptions are what was made up.
func (r *run) assumptions(parts int) []string {
	n := r.notes
	out := []string{
		"asks come when they were recorded, whatever became of those before",
		"an allocation runs as long as it did, wherever and whenever it starts",
	}
	count := func(n int, text string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, text))
		}
	}
	count(n.estimated,
		"allocations whose end the recording has not seen run as long as the median of their queue that ran as long")
	count(n.endless, "allocations run to the end of the recording: no duration is known")
	count(n.confirmed, "victims and placeholders are confirmed after the median time")
	count(n.reloads, "recorded changes of the configuration are left out: the given one is in force from the begin on")
	count(r.nodes.skipped, "allocations that ran on nodes that are taken away are left out")
	if n.oracle {
		out = append(out, "the resource manager has predicates, which are not asked: nodes are accepted that it would refuse")
	}
	if r.changed.preemptions() != r.recorded.preemptions() {
		out = append(out, "work that was submitted again after a preemption is submitted in both runs, and no other")
	}
	if parts > 1 {
		out = append(out,
			fmt.Sprintf("the recording has %d parts, because resource managers registered again or steps are missing; this is "+
				"the one with most asks", parts))
	}
	return out
}

func (t *tracker) preemptions() (n int) {
	for _, r := range t.all {
		if r.preempted() {
			n++
		}
	}
	return n
}
