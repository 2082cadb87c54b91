package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/backfill"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Plan is a suite to measure.
type Plan struct {
	Name  string
	About string
	Axis  string // as in Suite
	cells []plannedCell
	// custom marks workloads from the command line, which may be invalid.
	custom bool
}

// NeedServer reports whether plans measure a server in a process of its own, so that Options.Server must be given.
func NeedServer(plans []Plan) bool {
	return slices.ContainsFunc(plans, func(p Plan) bool {
		return slices.ContainsFunc(p.cells, func(c plannedCell) bool {
			return slices.Contains([]Measure{Readers, Hostile, Recovery, Recording}, c.measure)
		})
	})
}

// plannedCell is a cell to measure.
type plannedCell struct {
	name    string
	line    string
	size    float64
	spec    workload.Spec
	measure Measure
	trace   Trace
	readers readersSpec
	hostile hostileSpec

	backfill backfill.Spec
}

// fromSpec reports whether the requests are those of spec.
func (c plannedCell) fromSpec() bool { return !c.trace.given() && c.measure != Backfill }

// Scale is the size of suites.
type Scale bool

// The scales: Quick has the same suites with a tenth of the work.
const (
	Full  Scale = false
	Quick Scale = true
)

// of returns a size at a scale: Quick has a tenth of it, but at least least.
func (s Scale) of(n, least int) int {
	if s == Quick {
		return max(n/10, least)
	}
	return n
}

// suites returns all suites, in the order of display. Without a trace, the suites that play it have no cells.
func suites(scale Scale, trace Trace) []Plan {
	return []Plan{
		flatPlan(scale), fanoutPlan(scale), depthPlan(scale), appsPlan(scale), bigAppPlan(scale),
		nodesPlan(scale), constraintsPlan(scale), preferencesPlan(scale), shapesPlan(scale), boundPlan(scale),
		prioritiesPlan(scale), adversarialPlan(scale),
		churnPlan(scale), preemptPlan(scale), gangPlan(scale), latencyPlan(scale), readersPlan(scale), reloadPlan(scale),
		tracePlan(trace), soakPlan(scale),
		memoryPlan(scale), recoveryPlan(scale), recordingPlan(scale), hostilePlan(scale),
		backfillPlan(scale), backfillOpenbPlan(trace),
	}
}

// SuiteNames returns the names of all suites.
func SuiteNames() []string {
	var names []string
	for _, p := range suites(Full, Trace{}) {
		names = append(names, p.Name)
	}
	return names
}

// List returns all suites.
func List() []Plan { return suites(Full, Trace{}) }

// Cells returns how many cells there are.
func (p Plan) Cells() int { return len(p.cells) }

// Choose finds suites by their names; without names, all that need no further files. A via that is not
// empty selects the cells of that interface, or moves all cells to it.
func Choose(names []string, scale Scale, trace Trace, via string) ([]Plan, error) {
	all := suites(scale, trace)
	if len(names) == 0 {
		all = slices.DeleteFunc(all, func(p Plan) bool { return len(p.cells) == 0 })
		return all, nil
	}
	var chosen []Plan
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Plan) bool { return p.Name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no suite %q%s; canopy-lab bench list shows them", name, suggestSuite(name))
		case slices.ContainsFunc(chosen, func(p Plan) bool { return p.Name == name }):
			return nil, fmt.Errorf("suite %s is there twice", name)
		case len(all[i].cells) == 0:
			return nil, fmt.Errorf("suite %s needs the files of a trace: --trace NODES.csv,PODS.csv", name)
		}
		p, err := all[i].via(via)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

// via returns the suite with one interface only.
func (p Plan) via(via string) (Plan, error) {
	if via == "" {
		return p, nil
	}
	several := slices.ContainsFunc(p.cells, func(c plannedCell) bool { return c.spec.Via != p.cells[0].spec.Via })
	var kept []plannedCell
	for _, c := range p.cells {
		same := c.spec.Via == via
		switch {
		case several && !same:
			continue
		case c.measure == Memory || c.measure == Reload || c.measure == Churn || c.measure == Preempt ||
			c.measure == Readers || c.measure == Hostile || c.measure == Recovery || c.measure == Recording ||
			c.measure == Backfill:
			if !same {
				return p, fmt.Errorf("suite %s is measured via %s: it cannot be measured via %s", p.Name, c.spec.Via, via)
			}
		}
		c.spec.Via = via
		kept = append(kept, c)
	}
	p.cells = kept
	for _, c := range kept {
		if !c.fromSpec() {
			continue
		}
		if err := c.spec.Check(); err != nil {
			return p, fmt.Errorf("suite %s: %w", p.Name, err)
		}
	}
	if len(kept) == 0 {
		return p, fmt.Errorf("suite %s has nothing that is measured via %s", p.Name, via)
	}
	return p, nil
}

// Custom returns a suite of one workload from the command line.
func Custom(spec workload.Spec) Plan {
	return Plan{
		Name: "custom", About: "One workload, as the flags say.", custom: true,
		cells: []plannedCell{{name: "custom", spec: spec, measure: MeasureOf(spec)}},
	}
}

// Check finds plans that cannot be measured: invalid workloads, workloads that need more memory than
// the machine has, and asks that fit on no node.
func (p Plan) Check(seed uint64) error { return p.check(seed, measure.MemoryAvailable()) }

// check does what Check does, for a machine with that much memory; 0: unknown.
func (p Plan) check(seed uint64, have int64) error {
	for _, c := range p.cells {
		if !c.fromSpec() {
			continue // the files of a trace were read to know the size; others are small
		}
		if err := c.spec.Check(); err != nil {
			return err
		}
		if need := c.spec.Bytes(); have > 0 && need > have {
			return fmt.Errorf("suite %s, cell %s needs about %d MiB of memory, and %d MiB are available",
				p.Name, c.name, need>>20, have>>20)
		}
		if p.custom {
			s := &stream{spec: c.spec, seed: seed}
			s.drawShapes()
			s.drawAsks()
			if err := s.computeSizes(); err != nil {
				return err
			}
		}
	}
	return nil
}

// suggestSuite suggests the suite whose name is similar.
func suggestSuite(name string) string {
	for _, known := range SuiteNames() {
		if strings.HasPrefix(known, name) && name != "" {
			return fmt.Sprintf(": did you mean %q?", known)
		}
	}
	if hint := validation.DidYouMean(name, SuiteNames()); hint != "" {
		return ": " + hint
	}
	return ""
}
