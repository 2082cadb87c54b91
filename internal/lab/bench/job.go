package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/backfill"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// Measure says how a workload is measured.
type Measure string

// The measures.
const (
	Fill      Measure = "fill"      // all asks are submitted, then placed as fast as possible
	Churn     Measure = "churn"     // a full cluster in which allocations end and pending asks are placed
	Steady    Measure = "steady"    // asks arrive at a rate, and all fit
	Memory    Measure = "memory"    // heap bytes of a queue, a node, an application and an ask
	Reload    Measure = "reload"    // how long scheduling pauses for a new configuration
	Gang      Measure = "gang"      // gangs are placed together, one after the other
	Preempt   Measure = "preempt"   // a full cluster in which asks preempt
	Readers   Measure = "readers"   // asks arrive at a rate, alternately without and with readers
	Hostile   Measure = "hostile"   // a server is attacked while a client sends asks
	Recovery  Measure = "recovery"  // a resource manager registers and reports everything
	Recording Measure = "recording" // what recording adds to the CPU time of a server
	Backfill  Measure = "backfill"  // a trace is played in virtual time
	Poll      Measure = "poll"      // the readers of another process
	Attack    Measure = "attack"    // the attacker of another process
)

// Job describes what one process measures.
type Job struct {
	Spec       workload.Spec `json:"spec"`
	Measure    Measure       `json:"measure"`
	Seed       uint64        `json:"seed"`
	Trace      Trace         `json:"trace"`      // instead of the stream of Spec
	Once       bool          `json:"once"`       // do not repeat short fills: for tests
	CPUProfile string        `json:"cpuProfile"` // file to write; empty: none
	MemProfile string        `json:"memProfile"`

	Readers  readersSpec   `json:"readers,omitzero"`  // of the measure of that name
	Hostile  hostileSpec   `json:"hostile,omitzero"`  // of the measure of that name
	Backfill backfill.Spec `json:"backfill,omitzero"` // of the measure of that name
	Poll     *pollJob      `json:"poll,omitempty"`    // as well
	Attack   *attackJob    `json:"attack,omitempty"`  // as well
	// Server is the file of the program canopy, which serves in a process of its own; empty: this process does.
	Server string `json:"server,omitempty"`
	// the command that measures in a separate process; empty: this process does
	Command []string `json:"self,omitempty"`
}

// Answer is the result of a Job.
type Answer struct {
	Digest string            `json:"digest"`
	Sample report.Sample     `json:"sample"`
	Times  map[string]string `json:"times"` // by family: histograms, to be merged over the runs
}

// result is an Answer under construction.
type result struct {
	sample     report.Sample
	histograms map[string]measure.Histogram
}

func newResult() *result {
	return &result{sample: report.Sample{}, histograms: map[string]measure.Histogram{}}
}

// family returns the histogram of a family; the sample gets its percentiles at the end.
func (r *result) family(name string) measure.Histogram {
	t, ok := r.histograms[name]
	if !ok {
		t = measure.NewHistogram()
		r.histograms[name] = t
	}
	return t
}

// Do measures in this process, which must do nothing else for the figures to be valid.
func Do(ctx context.Context, j Job) (Answer, error) {
	if j.Poll != nil || j.Attack != nil {
		return j.doLoadProcess(ctx)
	}
	if j.Measure == Backfill {
		return j.doBackfill()
	}
	s, err := j.stream()
	if err != nil {
		return Answer{}, err
	}
	stop, err := measure.CPUProfile(j.CPUProfile)
	if err != nil {
		return Answer{}, err
	}
	r := newResult()
	err = errors.Join(j.measure(ctx, s, r), stop())
	if err == nil {
		err = measure.MemoryProfile(j.MemProfile)
	}
	a, bad := r.answer(s.digest)
	return a, errors.Join(err, bad)
}

// raisePriority gives this process, and the server that it starts, priority over readers and attackers,
// which stand for other machines.
func (j Job) raisePriority() {
	if len(j.Command) > 0 { // else all are in this process
		measure.SetHighPriority()
	}
}

// raisePriorityAboveServer gives this process priority over the started server.
func (j Job) raisePriorityAboveServer() {
	if len(j.Command) > 0 {
		measure.SetRealtimePriority()
	}
}

// doLoadProcess runs readers or attackers. It is meant for a separate process.
func (j Job) doLoadProcess(ctx context.Context) (Answer, error) {
	if len(j.Command) > 0 { // else this process does other things, too
		if err := measure.SetIdlePriority(); err != nil {
			return Answer{}, fmt.Errorf("yielding to other processes: %w", err)
		}
	}
	r := newResult()
	var err error
	if j.Poll != nil {
		err = measurePoll(ctx, j.Poll, r)
	} else {
		err = j.Attack.run(ctx, r)
	}
	if err != nil {
		return Answer{}, err
	}
	return r.answer("")
}

// answer returns the result as an Answer.
func (r *result) answer(digest string) (a Answer, err error) {
	a = Answer{Digest: digest, Sample: r.sample, Times: map[string]string{}}
	for family, t := range r.histograms {
		enterPercentiles(t, family, r.sample)
		text, bad := t.Encode()
		a.Times[family], err = text, errors.Join(err, bad)
	}
	return a, err
}

func (j Job) stream() (*stream, error) {
	if j.Trace.given() {
		return j.Trace.stream(j.Spec)
	}
	if err := j.Spec.Check(); err != nil {
		return nil, err
	}
	return newStream(j.Spec, j.Seed)
}

func (j Job) measure(ctx context.Context, s *stream, r *result) error {
	core := s.spec.Via == workload.ViaCore
	switch j.Measure {
	case Fill:
		if core {
			return fillCore(s, r, j.rounds())
		}
		return fillViaClient(ctx, s, r, j.rounds())
	case Churn:
		if core {
			return churnCore(s, r)
		}
		return churnViaClient(ctx, s, r)
	case Steady:
		return steadyViaClient(ctx, s, r)
	case Gang:
		return measureGangs(s, r)
	case Preempt:
		return preemptCore(s, r)
	case Memory:
		return measureMemory(s, r)
	case Reload:
		return measureReload(s, r)
	case Readers:
		return measureReaders(ctx, s, r, j)
	case Hostile:
		return measureHostile(ctx, r, j)
	case Recovery:
		return measureRecovery(ctx, s, r, j)
	case Recording:
		return measureRecording(ctx, s, r, j)
	}
	return fmt.Errorf("there is no measure %q", j.Measure)
}

// spawner measures another job, in a separate process if Command is set.
func (j Job) spawner() func(context.Context, Job) (Answer, error) {
	if len(j.Command) == 0 {
		return Do
	}
	return Spawner(j.Command[0], j.Command[1:]...)
}

// maxRounds bounds how often a fill is repeated for enough decisions.
const maxRounds = 20

func (j Job) rounds() int {
	if j.Once {
		return 1
	}
	return maxRounds
}

// MeasureOf returns the measure of a workload outside of the suites.
func MeasureOf(s workload.Spec) Measure {
	switch {
	case s.Preemptors > 0:
		return Preempt
	case s.Churn > 0:
		return Churn
	case s.Rate > 0:
		return Steady
	}
	return Fill
}
