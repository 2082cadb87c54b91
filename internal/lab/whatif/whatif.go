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
	From      time.Time `json:"from"` // of the session
	To        time.Time `json:"to"`
	Steps     uint64    `json:"steps"`

	Changes     []string `json:"changes"`     // what is other than recorded
	Assumptions []string `json:"assumptions"` // what the recording does not know
	Same        bool     `json:"same"`        // every ask started and ended at the same time in both

	Recorded Outcome  `json:"recorded"`
	Changed  Outcome  `json:"changed"`
	Series   []Series `json:"series"`
	Held     []Series `json:"held,omitempty"` // what reservations held and nothing used, by resource
}

// ErrNothing is the error for a recording without an ask.
var ErrNothing = errors.New("no ask was recorded")

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

// Recorded is a session that scenarios are compared with. It is read only, once it is made.
type Recorded struct {
	session     recording.Session
	incomplete  string // why steps are missing at the end; empty: none are
	steps       uint64
	first, last time.Time
	tracked     *tracker
}

// Read makes the recorded decisions of a session, to learn what became of each ask. Errors: ErrNothing, and those of
// the recording; and *DifferenceError.
func Read(s recording.Session) (*Recorded, error) {
	r, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := &Recorded{session: s, tracked: newTracker()}
	var player playback.Player
	player.Begin(r.Begin)
	for {
		x, err := r.Next()
		if err == io.EOF || err == nil && !x.Done { // the scheduler has panicked in it, as the changed one would
			break
		}
		if err != nil {
			return nil, err
		}
		if out.steps == 0 {
			out.first = x.At
		}
		out.steps++
		out.last = x.At
		if x.Command != nil {
			out.tracked.command(x.Command, x.At)
		}
		made := player.Make(x)
		if made.Difference != "" {
			return nil, &DifferenceError{x.Number, x.At, made.Difference}
		}
		out.tracked.effects(made.Effects, x.At)
	}
	if len(out.tracked.all) == 0 {
		return nil, fmt.Errorf("partition %s, since %s: %w", s.Partition, s.Began.Format(time.RFC3339), ErrNothing)
	}
	out.incomplete = r.Incomplete()
	return out, nil
}

// Compare reads a recording and compares it with one scenario.
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
	r := &run{
		scenario: scenario, history: newHistory(x.tracked, x.last), until: x.last,
		recorded: newTracker(), recordedSamples: newSamples(x.first, x.last),
		changed: newTracker(), samples: newSamples(x.first, x.last), nodes: newNodes(scenario.Nodes),
		removals: map[objects.AppID]bool{},
	}
	if err := r.makeSteps(x, progress); err != nil {
		return nil, err
	}
	if err := r.nodes.unmatched(); err != nil {
		return nil, err
	}
	end := x.last.Add(time.Nanosecond)
	r.recordedSamples.upTo(end, r.player.Core())
	r.samples.upTo(end, r.core)
	return &Comparison{
		Partition: x.session.Partition, From: x.first, To: x.last, Steps: x.steps,
		Changes: r.changes(), Assumptions: r.assumptions(x.incomplete), Same: same(r.recorded, r.changed),
		Recorded: outcomeOf(r.recorded, r.recordedSamples), Changed: outcomeOf(r.changed, r.samples),
		Series: seriesOf(r.recordedSamples, r.samples), Held: heldSeries(r.recordedSamples, r.samples),
	}, nil
}

// makeSteps makes all steps of the session in both runs.
func (r *run) makeSteps(x *Recorded, progress func(at time.Time)) error {
	reader, err := x.session.Open()
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := r.begin(reader.Begin); err != nil {
		return err
	}
	for range x.steps {
		step, err := reader.Next()
		if err != nil {
			return err
		}
		if err := r.step(step); err != nil {
			return err
		}
		if progress != nil && step.Number%progressSteps == 0 {
			progress(step.At)
		}
	}
	return nil
}

// progressSteps is after how many steps progress is reported.
const progressSteps = 10_000

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

// changes says in words what differs from the recording.
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

// assumptions returns what was made up.
func (r *run) assumptions(incomplete string) []string {
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
	if incomplete != "" {
		out = append(out, "the recording ends early: "+incomplete)
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
