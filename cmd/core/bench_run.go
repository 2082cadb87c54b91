package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/bench"
)

const benchRunHelp = `Measure suites of workloads, or one workload that the flags describe.

Every sample is taken in a process of its own, which this one starts. The samples of all
cells are mixed: round after round one of each, in an order that the seed decides. So a
machine that gets slower with time does not show as a slower workload. Figures are medians
with 95 % intervals; percentiles are those of the times of all runs together.

Without flags all suites are measured, 10 times each, which is what it takes for
canopy bench compare to find a difference. On two cores that were busy with other work, two
runs of everything took 17 minutes, so ten take about an hour and a half; --quick, a tenth
of the work and two runs, took 5. Measure on a machine that does nothing else.

The requests follow from the workload and the seed alone; the report has a digest of them.
CPU is that of the whole process. Via inprocess and grpc the client is part of it. Of each
suite's workloads a small form is run once more without timing, and every decision is held
against an order that is sorted anew each time: auditViolations counts those that differ.

An interrupt ends the samples under way and prints what was measured until then.

The exit code is 0 when everything was measured, 1 when a cell failed, a decision was out
of order or the run was interrupted, and 2 for arguments that make no sense.`

const benchRunExamples = `  canopy bench run --quick
  canopy bench run --output json --html report.html > new.json
  canopy bench run --suite depth,fanout --runs 2
  canopy bench run --depth 5 --fanout 4 --asks 100000 --nodes 10000 --runs 5
  canopy bench run --saturation 2 --churn 1 --rate 2000 --via grpc
  canopy bench run --preemptors 1000 --asks 100000 --nodes 10000
  canopy bench run --suite trace --trace nodes.csv,pods.csv`

// benchRunCommand measures.
func benchRunCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:           "run",
		Short:         "Measure suites of workloads, or one of your own",
		Long:          benchRunHelp,
		Example:       benchRunExamples,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plans, err := f.plans()
			if err != nil {
				return exitError{exitUsage, err}
			}
			self, err := os.Executable()
			if err != nil {
				return exitError{exitRefused, err}
			}
			spawn := bench.Spawner(self, "bench", sampleCommand)
			return benchRun(cmd.Context(), &f, plans, spawn, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.define(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, err} })
	return cmd
}

// spawner measures in a process of its own.
type spawner func(context.Context, bench.Job) (bench.Answer, error)

// benchRun measures and prints. Its errors have their exit code.
func benchRun(
	ctx context.Context, f *benchFlags, plans []bench.Plan, spawn spawner, out, errs io.Writer,
) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	progress := progressOn(errs)
	r := bench.Run(ctx, plans, bench.Options{
		Version: thisBuild().Version, Runs: f.runs, Seed: f.seed, CPUProfile: f.cpuProfile, MemProfile: f.memProfile,
		Spawn: spawn, Progress: func(s bench.Step) { progress.phase(benchStep(s)) },
	})
	progress.end()
	stop() // a second interrupt ends the writing
	var err error
	if f.html != "" { // first: nobody may read the other end of a pipe, which ends the process
		err = writePage(f.html, r)
	}
	err = errors.Join(err, printBench(out, f.output, r))
	failed, wrong := r.Failures()
	switch {
	case err != nil:
	case r.Incomplete != "":
		err = errors.New(r.Incomplete)
	case wrong > 0:
		err = fmt.Errorf("%d decisions were out of order", wrong)
	case failed > 0:
		err = fmt.Errorf("cells that failed: %d; the report says why", failed)
	}
	if err != nil {
		return exitError{exitRefused, err}
	}
	return nil
}

// benchStep is a line such as "3 of 88: fanout leaves-64, run 1 of 10, about 4m left".
func benchStep(s bench.Step) string {
	what := fmt.Sprintf("run %d of %d", s.Run, s.Runs)
	if s.Run == 0 {
		what = "audit"
	}
	line := fmt.Sprintf("%d of %d: %s %s, %s", s.Done, s.Total, s.Suite, s.Cell, what)
	if s.Err != nil {
		line += ", failed"
	}
	if s.Done < s.Total {
		line += fmt.Sprintf(", about %v left", s.Left.Round(time.Second))
	}
	return line
}

func printBench(out io.Writer, output string, r *bench.Report) error {
	if output == "json" {
		return printJSON(out, r)
	}
	return bench.WriteText(out, r)
}

func writePage(name string, r *bench.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(bench.WriteHTML(file, r), file.Close())
}
