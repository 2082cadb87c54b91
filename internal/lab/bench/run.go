package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// Options are the parameters of Run.
type Options struct {
	Version    string
	Server     string // file of the program canopy, for the suites that measure its server
	Runs       int    // samples per cell, at least 1
	Seed       uint64
	CPUProfile string // of the last run of the only cell; empty: none
	MemProfile string
	Spawn      func(context.Context, Job) (Answer, error) // measures in a separate process
	Progress   func(Step)                                 // called after each sample
}

// Step is the progress of a Run.
type Step struct {
	Suite, Cell string
	Run, Runs   int // which sample of the cell, from 1
	Done, Total int // samples of all cells
	Left        time.Duration
	Err         error // why there is no sample
}

// Run measures all cells: in each round one sample of each, in random order, so that a machine that
// slows down does not show as a slower cell. A sample that fails is the failure of its cell. When ctx
// ends, the report has the samples until then, and says that it is incomplete.
func Run(ctx context.Context, plans []Plan, o Options) *report.Report {
	r := &report.Report{
		Version: o.Version, Go: runtime.Version(), CPU: measure.CPUModel(), Cores: runtime.NumCPU(), Started: time.Now(),
		Seed: o.Seed, Runs: o.Runs, LoadBefore: measure.LoadAverage(), Suites: make([]report.Suite, len(plans)),
	}
	processors := measure.ReadProcessorTimes()
	w := &suiteRunner{ctx: ctx, o: o, began: time.Now()}
	for i, p := range plans {
		r.Suites[i] = report.Suite{Name: p.Name, About: p.About, Axis: p.Axis, Cells: make([]report.Cell, len(p.cells))}
		for j, c := range p.cells {
			cell := &r.Suites[i].Cells[j]
			*cell = report.Cell{Name: c.name, Line: c.line, Size: c.size, Spec: c.spec}
			w.cells = append(w.cells,
				&cellState{plannedCell: c, suite: p.Name, to: cell, merged: map[string]measure.Histogram{}})
		}
	}
	w.rounds()
	for _, c := range w.cells {
		c.finish(o.Runs)
	}
	finishBackfill(w.cells)
	if ctx.Err() != nil {
		r.Incomplete = fmt.Sprintf("interrupted after %d of %d samples", w.done, w.total())
	}
	r.LoadAfter, r.Stolen = measure.LoadAverage(), measure.ReadProcessorTimes().StolenSince(processors)
	return r
}

// suiteRunner is the state of a Run.
type suiteRunner struct {
	ctx   context.Context
	o     Options
	began time.Time
	cells []*cellState
	done  int
}

// cellState is a cell with the samples so far.
type cellState struct {
	plannedCell
	suite  string
	to     *report.Cell
	merged map[string]measure.Histogram
}

func (w *suiteRunner) total() int { return len(w.cells) * w.o.Runs }

func (w *suiteRunner) rounds() {
	for round := range w.o.Runs {
		order := rand.New(rand.NewPCG(w.o.Seed, uint64(round))).Perm(len(w.cells))
		for _, i := range order {
			if w.ctx.Err() != nil {
				return
			}
			c := w.cells[i]
			job := Job{
				Spec:    c.spec,
				Measure: c.measure,
				Seed:    w.o.Seed,
				Server:  w.o.Server,
				Trace:   c.trace,
				Readers: c.readers,
				Hostile: c.hostile,

				Backfill: c.backfill,
			}
			if c.measure == Backfill { // what it measures does not vary, so each run has another trace
				job.Seed += uint64(round)
			}
			if round == w.o.Runs-1 {
				job.CPUProfile, job.MemProfile = w.o.CPUProfile, w.o.MemProfile
			}
			w.sample(c, job, round+1)
		}
	}
}

// sample measures one sample. An interrupted sample is discarded.
func (w *suiteRunner) sample(c *cellState, job Job, number int) {
	answer, err := w.o.Spawn(w.ctx, job)
	if w.ctx.Err() != nil {
		return
	}
	if err == nil {
		err = c.take(answer)
	}
	if err != nil && c.to.Failure == "" {
		c.to.Failure = fmt.Sprintf("run %d: %v", number, err)
	}
	w.done++
	took := time.Since(w.began)
	w.o.Progress(Step{
		Suite: c.suite, Cell: c.name, Run: number, Runs: w.o.Runs, Done: w.done, Total: w.total(), Err: err,
		Left: took / time.Duration(w.done) * time.Duration(w.total()-w.done),
	})
}

// take adds an answer to the cell.
func (c *cellState) take(a Answer) error {
	switch {
	case a.Digest == "":
		return errors.New("the process does not say what it has measured")
	case c.to.Digest == "":
		c.to.Digest = a.Digest
	case c.to.Digest != a.Digest:
		return errors.New("the requests were not those of the other runs")
	}
	if err := a.Sample.Check(); err != nil {
		return err
	}
	for family, text := range a.Times {
		t, err := measure.DecodeHistogram(text)
		if err != nil {
			return fmt.Errorf("times of %s: %w", family, err)
		}
		if old, ok := c.merged[family]; ok {
			old.Merge(t)
		} else {
			c.merged[family] = t
		}
	}
	c.to.Samples = append(c.to.Samples, a.Sample)
	return nil
}

// finish computes the figures over all samples.
func (c *cellState) finish(runs int) {
	if len(c.to.Samples) == 0 {
		if c.to.Failure == "" {
			c.to.Failure = "not measured"
		}
		return
	}
	if missing := runs - len(c.to.Samples); missing > 0 && c.to.Failure == "" {
		c.to.Failure = fmt.Sprintf("%d of %d runs were not made", missing, runs)
	}
	c.to.Merged = report.Sample{}
	for family, t := range c.merged {
		enterPercentiles(t, family, c.to.Merged)
	}
}
