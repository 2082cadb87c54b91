package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/bench"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

// Samples of each cell.
const (
	defaultRuns = 10
	quickRuns   = 2
	maxRuns     = 1000
)

// benchFlags are the flags of canopy-lab bench run as given.
type benchFlags struct {
	suites                 []string
	spec                   workload.Spec
	trace                  string
	runs                   int
	seed                   uint64
	quick                  bool
	output, html           string
	cpuProfile, memProfile string

	server string // the program canopy, whose server is measured

	set *pflag.FlagSet // knows which flags were given
}

// specFlags describe a workload. They cannot be combined with --suite; only --via can.
var specFlags = []string{
	"depth", "fanout", "apps-per-leaf", "asks", "nodes", "shapes", "types", "priorities", "tags", "bound", "sort",
	"node-sort", "constraint", "kinds", "churn", "saturation", "rate", "preemptors",
}

// preemptorFlags describe the preemptors of a workload. They need --preemptors.
var preemptorFlags = []string{"preempt-by", "victims", "preemptor-sizes", "at-once"}

func (f *benchFlags) define(set *pflag.FlagSet) {
	f.set, f.spec = set, workload.DefaultSpec()
	s := &f.spec
	addServerProgram(set, &f.server)
	set.StringSliceVar(&f.suites, "suite", nil,
		"measure this suite, or several separated by commas; without it and the flags of a workload, all")
	set.IntVar(&s.Depth, "depth", s.Depth, "workload: levels of queues below root")
	set.IntVar(&s.Fanout, "fanout", s.Fanout, "workload: children of each parent queue")
	set.IntVar(&s.AppsPerLeaf, "apps-per-leaf", s.AppsPerLeaf, "workload: applications in each leaf")
	set.IntVar(&s.Asks, "asks", s.Asks, "workload: asks of all applications, assigned to them in turn")
	set.IntVar(&s.Nodes, "nodes", s.Nodes, "workload: nodes, all of one size")
	set.IntVar(&s.Shapes, "shapes", s.Shapes,
		"workload: different sizes of asks, the n-th 1/n as frequent as the first; equal to --asks: all sizes differ")
	set.IntVar(&s.Types, "types", s.Types, "workload: types of resources: vcore, memory, then others")
	set.IntVar(&s.Priorities, "priorities", s.Priorities, "workload: different priorities of asks")
	set.IntVar(&s.Tags, "tags", s.Tags, "workload: tags on each ask")
	set.Float64Var(&s.Bound, "bound", s.Bound,
		"workload: share of the leaves that have a max of half of the resources that their asks request")
	set.StringVar(&s.Sort, "sort", s.Sort, "workload: order of applications in a leaf: fifo, fair or stateaware")
	set.StringVar(&s.NodeSort, "node-sort", s.NodeSort, "workload: order of nodes: fair or binpacking")
	set.StringVar(&s.Constraint, "constraint", s.Constraint,
		"workload: constraint of every ask: "+strings.Join(workload.Constraints(), ", ")+"; empty: none")
	set.IntVar(&s.Kinds, "kinds", s.Kinds,
		"workload: different labels and selectors of asks with --constraint, in turn; 0: 1")
	set.Float64Var(&s.Churn, "churn", s.Churn,
		"workload: once the cluster is filled, this share of its allocations is released, each followed by a new ask")
	set.Float64Var(&s.Saturation, "saturation", s.Saturation,
		"workload: requested resources as a share of the cluster; above 1 some asks stay pending")
	set.Float64Var(&s.Rate, "rate", s.Rate,
		"workload: asks, or with --churn releases, per second at random times; 0: as fast as possible")
	set.IntVar(&s.Preemptors, "preemptors", s.Preemptors,
		"workload: asks that preempt once the cluster is full; --shapes and --saturation are 1 then unless given")
	set.StringVar(&s.PreemptBy, "preempt-by", s.PreemptBy,
		"preemptors: reason of the preemption: leaf or fence (priority within that scope), or guarantee (of a queue of "+
			"their own)")
	set.IntVar(&s.Victims, "victims", s.Victims, "preemptors: size of each, in allocations of the most frequent size")
	set.IntVar(&s.PreemptorSizes, "preemptor-sizes", s.PreemptorSizes,
		"preemptors: different sizes, a few bytes apart; equal to --preemptors: all sizes differ")
	set.IntVar(&s.AtOnce, "at-once", s.AtOnce, "preemptors: how many are submitted together, before any victim ends")
	set.StringVar(&s.Via, "via", s.Via, "API of the scheduler: core, inprocess or grpc; also restricts suites to it")
	set.StringVar(&f.trace, "trace", "",
		"`FILES` NODES.csv,PODS.csv of an openb trace, for the suites trace and backfill-openb")
	set.IntVar(&f.runs, "runs", defaultRuns,
		"samples of each cell, each in a process of its own; with --quick 2 unless given")
	set.Uint64Var(&f.seed, "seed", 1, "seed of sizes, priorities, times and the order of the samples")
	set.BoolVar(&f.quick, "quick", false,
		"a tenth of the work in each suite, and fewer runs: the figures are too few to compare")
	cmdline.OutputFlag(set, &f.output)
	set.StringVar(&f.html, "html", "", "also write the result as a page to `FILE`")
	set.StringVar(&f.cpuProfile, "cpuprofile", "",
		"write a CPU profile of the last run of a single workload to `FILE`; distorts its figures")
	set.StringVar(&f.memProfile, "memprofile", "", "write a heap profile of the last run of a single workload to `FILE`")
}

// given returns those of the named flags that are on the command line.
func (f *benchFlags) given(names ...string) (on []string) {
	for _, name := range names {
		if f.set.Changed(name) {
			on = append(on, "--"+name)
		}
	}
	return on
}

// plans returns the suites or the workload that the flags select. All invalid flags and files are
// reported here, before the first sample.
func (f *benchFlags) plans() ([]bench.Plan, error) {
	if f.quick && !f.set.Changed("runs") {
		f.runs = quickRuns
	}
	if err := errors.Join(f.checkCombinations(), f.writable()); err != nil {
		return nil, oneLine(err)
	}
	trace, err := f.readTrace()
	if err != nil {
		return nil, err
	}
	plans, err := f.choose(trace)
	if err != nil {
		return nil, oneLine(err)
	}
	cells := 0
	for _, p := range plans {
		cells += p.Cells()
		if err := p.Check(f.seed); err != nil {
			return nil, oneLine(err)
		}
	}
	if on := f.given("cpuprofile", "memprofile"); len(on) > 0 && cells != 1 {
		return nil, fmt.Errorf("%s is about one workload, and %d cells would be measured", on[0], cells)
	}
	return plans, nil
}

func (f *benchFlags) choose(trace bench.Trace) ([]bench.Plan, error) {
	via := ""
	if f.set.Changed("via") {
		via = f.spec.Via
	}
	scale := bench.Full
	if f.quick {
		scale = bench.Quick
	}
	custom := append(f.given(specFlags...), f.given("via")...)
	if f.set.Changed("suite") || len(custom) == 0 {
		return bench.Choose(f.suites, scale, trace, via)
	}
	if f.spec.Preemptors > 0 {
		f.fillCluster()
	}
	if !f.set.Changed("shapes") { // the default may be more than a small --asks
		f.spec.Shapes = max(min(f.spec.Shapes, f.spec.Asks), 1)
	}
	return []bench.Plan{bench.Custom(f.spec)}, nil
}

// fillCluster sets the defaults of a workload with preemptors: a full cluster and asks of one size.
func (f *benchFlags) fillCluster() {
	if !f.set.Changed("saturation") {
		f.spec.Saturation = 1
	}
	if !f.set.Changed("shapes") {
		f.spec.Shapes = 1
	}
}

// checkCombinations reports invalid values and invalid combinations of flags.
func (f *benchFlags) checkCombinations() error {
	var wrong []error
	note := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	workload := append(f.given(specFlags...), f.given(preemptorFlags...)...)
	suite, withSuite := f.set.Changed("suite"), len(workload) > 0
	note(suite && withSuite, "--suite has workloads of its own: %s cannot be given with it", strings.Join(workload, ", "))
	note(suite && len(f.suites) == 0, "--suite names no suite")
	note(f.quick && withSuite, "--quick is about suites: %s cannot be given with it", strings.Join(workload, ", "))
	about := f.given(preemptorFlags...)
	note(!suite && len(about) > 0 && f.spec.Preemptors == 0, "%s needs --preemptors", strings.Join(about, ", "))
	note(f.set.Changed("trace") && !suite && (withSuite || f.set.Changed("via")),
		"--trace is for suites, not for a workload of your own")
	note(f.set.Changed("trace") && suite && !slices.ContainsFunc(f.suites, bench.PlaysTrace),
		"--trace is for the suites trace and backfill-openb, and --suite is %s", strings.Join(f.suites, ","))
	note(f.runs < 1 || f.runs > maxRuns, "--runs is %d, and must be from 1 to %d", f.runs, maxRuns)
	return errors.Join(wrong...)
}

func (f *benchFlags) readTrace() (bench.Trace, error) {
	if !f.set.Changed("trace") {
		return bench.Trace{}, nil
	}
	t, err := bench.ParseTrace(f.trace)
	if err != nil {
		return t, err
	}
	for _, name := range []*string{&t.Nodes, &t.Pods} {
		*name, err = filepath.Abs(*name)
		if err != nil {
			return t, err
		}
	}
	_, _, err = t.Read()
	return t, err
}

// writable reports output files that cannot be written, before the measurement begins. Existing
// files keep their content.
func (f *benchFlags) writable() error {
	var wrong []error
	for _, x := range []struct{ flag, file string }{
		{"html", f.html}, {"cpuprofile", f.cpuProfile}, {"memprofile", f.memProfile},
	} {
		if !f.set.Changed(x.flag) {
			continue
		}
		if x.file == "" {
			wrong = append(wrong, fmt.Errorf("--%s names no file", x.flag))
			continue
		}
		_, err := os.Stat(x.file)
		missing := os.IsNotExist(err)
		file, err := os.OpenFile(x.file, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %w", x.flag, err))
			continue
		}
		err = file.Close()
		if missing {
			err = errors.Join(err, os.Remove(x.file))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %w", x.flag, err))
		}
	}
	return errors.Join(wrong...)
}

// oneLine joins the lines of an error with semicolons; nil stays nil.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
