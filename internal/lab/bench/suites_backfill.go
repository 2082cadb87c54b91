package bench

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/backfill"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

func backfillPlan(s Scale) Plan {
	p := Plan{
		Name: "backfill",
		About: "Made-up traces of GPU jobs, a tenth of them gangs, on 64 and 512 GPUs at loads of 0.8, 1.0 and 1.5, with " +
			"bounds of 1, 2, 5 and 10 times the durations: what stands idle under reservations, and waits, without and with " +
			"backfill of reserved nodes, and with EASY and conservative backfill of one pool of GPUs. Each run has the next " +
			"seed, and figures are means over the runs; ± is the farthest run. --quick has a load of 1.5 on 64 GPUs.",
	}
	clusters, loads := []int{64, 512}, []float64{0.8, 1, 1.5}
	if s == Quick {
		clusters, loads = clusters[:1], loads[2:]
	}
	for _, gpus := range clusters {
		for _, load := range loads {
			p.addModes(backfill.Spec{GPUs: gpus, Load: load}, Trace{})
		}
	}
	return p
}

func backfillOpenbPlan(t Trace) Plan {
	p := Plan{
		Name: "backfill-openb",
		About: "The same with the tasks of an openb trace, which --trace names, that need GPUs, on 64 GPUs, which they " +
			"reach so much closer to each other that the load is 1.5. In place of gangs, which there are none of, jobs of a " +
			"whole node are shown apart.",
	}
	if t.given() {
		p.addModes(backfill.Spec{GPUs: 64, Load: 1.5, Openb: true}, t)
	}
	return p
}

// addModes adds the cells of all modes of a Spec.
func (p *Plan) addModes(s backfill.Spec, t Trace) {
	add := func() {
		name := fmt.Sprintf("gpus-%d-load-%.1f-%s", s.GPUs, s.Load, s.Mode)
		if s.Factor > 0 {
			name += fmt.Sprintf("-x%g", s.Factor)
		}
		p.cells = append(p.cells, plannedCell{name: name, spec: s.Workload(), measure: Backfill, trace: t, backfill: s})
	}
	// Nothing runs for longer than its bound, so bounds decide nothing here, and it is played once for all.
	s.Mode = backfill.Off
	add()
	for _, s.Mode = range []backfill.Mode{backfill.Bounded, backfill.EASY, backfill.Conservative} {
		for _, s.Factor = range []float64{1, 2, 5, 10} {
			add()
		}
	}
}

// doBackfill plays one trace.
func (j Job) doBackfill() (Answer, error) {
	trace := j.Backfill.MadeUpTrace
	if j.Backfill.Openb {
		_, tasks, err := j.Trace.read()
		if err != nil {
			return Answer{}, err
		}
		if !slices.ContainsFunc(tasks, func(x sim.Task) bool { return x.Amounts.Get(sim.GPU) > 0 }) {
			return Answer{}, fmt.Errorf("no task of %s has GPUs", j.Trace.Pods)
		}
		trace = func(seed uint64) backfill.Trace { return j.Backfill.OpenbTrace(tasks, seed) }
	}
	figures, err := backfill.Play(j.Backfill, trace(j.Seed))
	return Answer{Digest: j.Backfill.Digest(trace(1)), Sample: figures}, err
}

// finishBackfill enters means over the runs of the cells that play traces, and compares each with its cell without
// backfill. A cell of which a sample is missing is compared with nothing.
func finishBackfill(cells []*cellState) {
	off := map[backfill.Spec]*report.Cell{}
	for _, c := range cells {
		if c.measure != Backfill {
			continue
		}
		for _, sample := range c.to.Samples {
			for name, x := range sample {
				c.to.Merged[name] += x / float64(len(c.to.Samples))
			}
		}
		if c.backfill.Mode == backfill.Off {
			off[c.backfill] = c.to
		}
	}
	for _, c := range cells {
		spec := c.backfill
		spec.Factor, spec.Mode = 0, backfill.Off
		base := off[spec]
		if c.measure != Backfill || base == nil || c.to == base || c.to.Failure+base.Failure != "" {
			continue
		}
		for i, sample := range c.to.Samples {
			backfill.Compare(sample, base.Samples[i])
		}
		backfill.Compare(c.to.Merged, base.Merged)
	}
}
