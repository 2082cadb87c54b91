package bench

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/backfill"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
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
	add := func(spec backfill.Spec) {
		name := fmt.Sprintf("gpus-%d-load-%.1f-%s", spec.GPUs, spec.Load, spec.Mode)
		if spec.Factor > 0 {
			name += fmt.Sprintf("-x%g", spec.Factor)
		}
		p.cells = append(p.cells, plannedCell{name: name, spec: spec.Workload(), measure: Backfill, backfill: spec})
	}
	for _, gpus := range clusters {
		for _, load := range loads {
			// Nothing runs for longer than its bound, so bounds decide nothing here, and it is played once for all.
			add(backfill.Spec{GPUs: gpus, Load: load, Mode: backfill.Off})
			for _, mode := range []backfill.Mode{backfill.Bounded, backfill.EASY, backfill.Conservative} {
				for _, factor := range []float64{1, 2, 5, 10} {
					add(backfill.Spec{GPUs: gpus, Load: load, Factor: factor, Mode: mode})
				}
			}
		}
	}
	return p
}

// doBackfill plays one trace.
func (j Job) doBackfill() (Answer, error) {
	figures, err := backfill.Play(j.Backfill, j.Seed)
	return Answer{Digest: j.Backfill.Digest(), Sample: figures}, err
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
		base := off[backfill.Spec{GPUs: c.backfill.GPUs, Load: c.backfill.Load, Mode: backfill.Off}]
		if c.measure != Backfill || base == nil || c.to == base || c.to.Failure+base.Failure != "" {
			continue
		}
		for i, sample := range c.to.Samples {
			backfill.Compare(sample, base.Samples[i])
		}
		backfill.Compare(c.to.Merged, base.Merged)
	}
}
