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

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/bench"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
)

const benchRunHelp = `Measure suites of workloads, or one workload that the flags describe.

Every sample is taken in a process of its own, which this one starts. The samples of all
cells are interleaved: each round takes one of each cell, in an order that depends on the
seed. So a machine that becomes slower does not show as a slower workload. Figures are
medians with 95 % intervals; percentiles are those of the times of all runs together.
The suite backfill is played in virtual time, so its figures do not depend on the machine:
each run has the next seed, and figures are means over the runs.

Without flags all suites are measured, 10 times each: canopy-lab bench compare needs as many to
find a difference. On two cores with other load, two runs of everything took 17 minutes,
so ten take about an hour and a half; --quick, a tenth of the work and two runs, took 5.
Measure on a machine without other load.

The requests depend on the workload and the seed alone; the report has a digest of them.
CPU is that of the whole process, which includes the client via inprocess and grpc.

An interrupt ends the running samples and prints what was measured until then.

The exit code is 0 when everything was measured, 1 when a cell failed or the run was
interrupted, and 2 when the arguments are invalid.`

const benchRunExamples = `  canopy-lab bench run --quick
  canopy-lab bench run --output json --html report.html > new.json
  canopy-lab bench run --suite depth,fanout --runs 2
  canopy-lab bench run --depth 5 --fanout 4 --asks 100000 --nodes 10000 --runs 5
  canopy-lab bench run --saturation 2 --churn 1 --rate 2000 --via grpc
  canopy-lab bench run --preemptors 1000 --asks 100000 --nodes 10000
  canopy-lab bench run --suite backfill --output json > backfill.json
  canopy-lab bench run --suite trace --trace nodes.csv,pods.csv`

// benchRunCommand measures suites or a workload.
func benchRunCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "Measure suites of workloads, or one of your own",
		Long:    benchRunHelp,
		Example: benchRunExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plans, err := f.plans()
			if err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			self, err := os.Executable()
			if err != nil {
				return cmdline.Exit(cmdline.Refused, err)
			}
			if bench.NeedServer(plans) {
				if f.server, err = serverProgram(f.server); err != nil {
					return cmdline.Exit(cmdline.Usage, err)
				}
			}
			spawn := bench.Spawner(self, "bench", sampleCommand)
			return benchRun(cmd.Context(), &f, plans, spawn, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.define(cmd.Flags())
	return cmd
}

// A spawner takes a sample in a process of its own.
type spawner func(context.Context, bench.Job) (bench.Answer, error)

// benchRun measures plans and prints the report. Its errors are of type exitError.
func benchRun(
	ctx context.Context, f *benchFlags, plans []bench.Plan, spawn spawner, out, errs io.Writer,
) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	progress := cmdline.ProgressOn(errs)
	r := bench.Run(ctx, plans, bench.Options{
		Version: version, Server: f.server, Runs: f.runs, Seed: f.seed, CPUProfile: f.cpuProfile, MemProfile: f.memProfile,
		Spawn: spawn, Progress: func(s bench.Step) { progress.Phase(benchStep(s)) },
	})
	progress.End()
	stop() // a second interrupt ends the writing
	var err error
	if f.html != "" { // first: writing to a closed pipe ends the process (SIGPIPE)
		err = writePage(f.html, r)
	}
	err = errors.Join(err, printBench(out, f.output, r))
	failed := r.Failures()
	switch {
	case err != nil:
	case r.Incomplete != "":
		err = errors.New(r.Incomplete)
	case failed > 0:
		err = fmt.Errorf("cells that failed: %d; the report says why", failed)
	}
	if err != nil {
		return cmdline.Exit(cmdline.Refused, err)
	}
	return nil
}

// benchStep is a line such as "3 of 88: fanout leaves-64, run 1 of 10, about 4m left".
func benchStep(s bench.Step) string {
	line := fmt.Sprintf("%d of %d: %s %s, run %d of %d", s.Done, s.Total, s.Suite, s.Cell, s.Run, s.Runs)
	if s.Err != nil {
		line += ", failed"
	}
	if s.Done < s.Total {
		line += fmt.Sprintf(", about %v left", s.Left.Round(time.Second))
	}
	return line
}

func printBench(out io.Writer, output string, r *report.Report) error {
	if output == "json" {
		return cmdline.PrintJSON(out, r)
	}
	return report.WriteText(out, r)
}

func writePage(name string, r *report.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteHTML(file, r), file.Close())
}
