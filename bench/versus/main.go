package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// options are the flags. The zero value means nothing; parse gives them.
type options struct {
	output    string
	scale     string
	workloads string
	runs      int
	seed      uint64
	deadline  time.Duration
	freshHeap bool
	profile   string // for the parent a directory, for a child a file
	arm       string // set in a child only
}

func (o *options) flags(errs io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("versus", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.output, "output", "text", "print the comparison as `format` text or json (with every run)")
	f.StringVar(&o.scale, "scale", "full", "`size` of the workloads: small or full")
	f.StringVar(&o.workloads, "workloads", "all", "comma-separated `list` of "+workloadNames()+", or all")
	f.IntVar(&o.runs, "runs", 4, "how many `times` each arm runs each workload; an even number balances the order")
	f.Uint64Var(&o.seed, "seed", 1, "`number` that decides the sizes of the asks")
	f.DurationVar(&o.deadline, "deadline", 30*time.Second,
		"`time` after which a run is cut off; it counts for what it placed until then")
	f.BoolVar(&o.freshHeap, "fresh-heap", false,
		"do not map the memory that the heap may grow to before deciding: its first touch becomes part of the figures")
	f.StringVar(&o.profile, "cpuprofile", "",
		"write a CPU profile of each run's deciding into this `directory`; distorts the figures")
	return f
}

// parse reads the command line. The flag that makes a process a child is not in the
// help: it is no business of a reader.
func parse(args []string, errs io.Writer) (o options, err error) {
	f := o.flags(errs)
	f.StringVar(&o.arm, "arm", "", "")
	f.Usage = func() {
		fmt.Fprintln(errs, "versus compares yunikorn-core and Canopy, both in process.")
		(&options{}).flags(errs).PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("argument %q: there are only flags", f.Arg(0))
	case o.output != "text" && o.output != "json":
		return o, fmt.Errorf("output %q: is neither text nor json", o.output)
	case o.runs < 1:
		return o, fmt.Errorf("runs %d: is not a positive number", o.runs)
	case o.deadline <= 0:
		return o, fmt.Errorf("deadline %v: is not a positive time", o.deadline)
	}
	return o, nil
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with an exit code: 2 for a wrong command line, 1 for a failed run.
func run(args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var chosen []Workload
	if err == nil {
		chosen, err = choose(o.scale, o.workloads)
	}
	if err != nil {
		fmt.Fprintln(errs, "versus:", err)
		return 2
	}
	if o.arm != "" {
		err = measureAndPrint(out, chosen[0], o)
	} else {
		err = compareAll(chosen, o, out, errs)
	}
	if err != nil {
		fmt.Fprintln(errs, "versus:", err)
		return 1
	}
	return 0
}

// compareAll measures the workloads and prints the comparison.
func compareAll(chosen []Workload, o options, out, errs io.Writer) error {
	r := newReport(o)
	for _, w := range chosen {
		samples, err := runAlternating(w, o, errs)
		if err != nil {
			return err
		}
		r.add(w, samples, o.seed)
	}
	r.LoadAfter = loadAverage()
	if o.output == "json" {
		return r.writeJSON(out)
	}
	return r.writeText(out)
}
