package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

const replayHelp = `Replay an openb trace of a GPU cluster over gRPC, in virtual time.

The files are CSV with a header; examples/trace has a small one, and canopy-lab trace-synth
makes larger ones. Other columns than these are ignored; numbers are whole:

  nodes   sn             name, unique
          cpu_milli      millicores
          memory_mib     MiB
          gpu            number of GPUs
  tasks   name           unique
          cpu_milli      millicores
          memory_mib     MiB
          num_gpu        number of GPUs
          gpu_milli      what a task with one GPU takes of it, in thousandths; else not used
          gpu_spec       accepted models of GPU; has no effect
          qos            class: LS, Guaranteed, Burstable or BE, or any that the configuration has a leaf for
          creation_time  seconds since the trace began
          deletion_time  the same

Every task is an application of its own in the queue root.<qos>, in lower case, or in the
one that --queue names; its user has the name of its class. So the configuration decides
which class goes first; without --config it is examples/openb.yaml.

  --mode fill       All tasks are submitted while all nodes are drained; then all nodes
                    become schedulable at once, and no task ends. It shows which tasks
                    run when the nodes are too small for all.
  --mode lifetimes  Tasks are submitted and end at the times of the trace. A task that is
                    still pending at its end is cancelled.
  --mode durations  Tasks are submitted at the times of the trace, and each runs as long as
                    in the trace, from its placement: one that waits ends later. With
                    --load 20 they arrive 20 times as fast.

--expected-start N, with --mode durations, asks for the expected start (canopy explain) of
every N-th task that has to wait, and reports how right the answers were.

Preemption is up to the configuration: with preemption.priority, or a guarantee, tasks may
preempt others, and victims end at once. With --resubmit a victim is submitted again, as a
new ask of the same application. Flags that show it:

  --order qos          fill class by class, the lowest priority first, the oldest first in
                       each; the next class is submitted when nothing more is placed
  --priority-from qos  tasks have the priority of their class: BE 0, Burstable 100,
                       Guaranteed 200, LS 300, or what --qos-priorities says
  --nodes-percent 70   70 of 100 nodes, evenly spread over the file
  --preemption compare replay once without preemption and once with it, and report both

--kill-core-every N replays the trace once as usual, and once with a scheduler in a process of
its own, which is killed (SIGKILL) after every N answers that the resource manager has received:
nodes and applications that were accepted, asks that were placed or rejected, and allocations
that were released. What the scheduler has sent after the N-th is lost. It is started again, and
gets everything reported: nodes as CREATE_DRAIN, applications (those with running tasks as
forced), allocations with their nodes, pending asks, and then the nodes become schedulable. Each
restart is a line on standard error. REST must show each allocation once and on its node, and as
many tasks must be placed as without kills. It is for replays without preemption.

--output json prints one object: nodes, applications, asks with the counts of their states,
wallSeconds, allocationsPerSecond and latencyMillis, queues at the end, rejections (the
first, with their reasons), balance (placed, preempted, released and running) preemption
(by class, in all and, with compare, withoutPreemption), with --expected-start the same, and,
with --kill-core-every, kills (restarts, their durations and what was reported at each).

A replay makes the same decisions each time; --decisions writes them to a file. With
--address another scheduler is used instead of one in this process. The configuration is
sent to it, which it ignores if it runs with --config. It discards the state of an earlier
replay.

The exit code is 0 when every invariant held, the accounting balances, every task that could
be placed was, and kills have changed no count of placements; 1 when not; and 2 when the
replay was not possible: invalid arguments, files that cannot be read, an address without a
scheduler, a scheduler that refuses the registration.`

const replayExamples = `  canopy-lab replay --nodes examples/trace/nodes.csv --pods examples/trace/pods.csv
  canopy-lab replay --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv
  canopy-lab replay --nodes nodes.csv --pods pods.csv --mode lifetimes --output json
  canopy-lab replay --nodes nodes.csv --pods pods.csv --mode durations --nodes-percent 70 --expected-start 20
  canopy-lab replay --nodes nodes.csv --pods pods.csv --address 127.0.0.1:3333 --decisions decisions.txt
  canopy-lab replay --nodes nodes.csv --pods pods.csv --kill-core-every 500
  canopy-lab replay --nodes nodes.csv --pods pods.csv --nodes-percent 70 --order qos --priority-from qos \
    --config examples/openb-preemption.yaml --queue root.shared --preemption compare --resubmit`

// replayCommand replays a trace.
func replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:     "replay --nodes FILE --pods FILE",
		Short:   "Replay a trace of nodes and tasks",
		Long:    replayHelp,
		Example: replayExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			r, err := replay(cmd.Context(), f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if f.output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return writeReport(cmd.OutOrStdout(), r.Report, r.summary())
		},
	}
	f.define(cmd.Flags())
	return cmd
}

// replay reads the files and replays the trace. Its errors are of type exitError.
func replay(ctx context.Context, f replayFlags, stderr io.Writer) (*replayReport, error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t, err := readTrace(&f)
	if err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	if n := t.countGPUSpecs(); n > 0 {
		fmt.Fprintf(stderr, "warning: %d of %d tasks name a model of GPU in gpu_spec, which has no effect\n",
			n, len(t.tasks))
	}
	inputs := []namedFile{{"nodes", f.nodes}, {"pods", f.pods}, {"config", f.config}}
	if err := refuseSameFile(namedFile{"decisions", f.decisions}, inputs...); err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	decisions, err := createDecisions(f.decisions)
	if err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	r, err := t.replay(ctx, &f, decisions, cmdline.ProgressOn(stderr))
	if err := errors.Join(err, decisions.Close()); err != nil {
		exit := cmdline.ExitError{Code: cmdline.Refused}
		errors.As(err, &exit)
		return nil, cmdline.Exit(exit.Code, err)
	}
	return r, nil
}

// replay replays the trace, or compares two replays of it.
func (t *trace) replay(ctx context.Context, f *replayFlags, decisions io.Writer,
	progress *cmdline.Progress) (*replayReport,
	error) {
	if f.killEvery > 0 {
		return t.replayWithKills(ctx, f, decisions, progress)
	}
	if f.preemption != "compare" {
		r, err := t.runOnce(ctx, f, f.preemption == "on", decisions, progress)
		return r, err
	}
	progress.Phase("first without preemption")
	without, err := t.runOnce(ctx, f, false, io.Discard, progress)
	if err != nil {
		return nil, err
	}
	progress.Phase("now with preemption")
	r, err := t.runOnce(ctx, f, true, decisions, progress)
	if err == nil {
		r.Preemption.Mode, r.Preemption.WithoutPreemption = f.preemption, &without.Preemption.Preemption
	}
	return r, err
}

// runOnce starts a scheduler, or connects to the one of --address, and replays the trace there.
func (t *trace) runOnce(
	ctx context.Context, f *replayFlags, preempts bool, decisions io.Writer, progress *cmdline.Progress,
) (*replayReport, error) {
	var clock *sim.Clock
	var p *simSession
	var err error
	if f.address == "" {
		clock = sim.NewClock()
		p, err = startSession(ctx, clock, newReplayForecasts(f.expectedStart, clock, t.partition), f.record)
	} else {
		p, err = connectSession(ctx, f.address, &f.access)
	}
	if err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	return t.runSession(ctx, f, p, clock, preempts, decisions, progress)
}

// runSession replays the trace with a session that is not registered yet, writes the decisions, and closes the
// session.
func (t *trace) runSession(
	ctx context.Context, f *replayFlags, p *simSession, clock *sim.Clock, preempts bool, decisions io.Writer,
	progress *cmdline.Progress,
) (*replayReport, error) {
	r, err := t.run(ctx, f, p, clock, preempts, progress)
	// Decisions are written after a failure too: they may explain it.
	if err := errors.Join(err, writeDecisions(decisions, p.client.Log()), p.close()); err != nil {
		exit := cmdline.ExitError{Code: cmdline.Refused}
		errors.As(err, &exit)
		return nil, cmdline.Exit(exit.Code, err)
	}
	return r, nil
}

// run replays the trace with a session that is not registered yet.
func (t *trace) run(
	ctx context.Context, f *replayFlags, p *simSession, clock *sim.Clock, preempts bool, progress *cmdline.Progress,
) (*replayReport, error) {
	defer progress.End()
	if err := p.client.Register(ctx, t.config); err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err) // nothing was replayed
	}
	player := sim.Replay{
		Client: p.client, Clock: clock, Nodes: t.nodes, Tasks: t.tasks, Seed: f.seed, Progress: progress.Count,
		Queue: f.leafOf, Priorities: t.qosNumbers, SendPriorities: f.priorities == "qos", ByQoS: f.order == "qos",
		Preempts: preempts && t.preemptionTimeout > 0, Resubmit: f.resubmit, VictimWait: t.preemptionTimeout,
	}
	player.Audit = func(ctx context.Context) error {
		err := p.client.Audit(t.partition)
		if err == nil && player.Preempts && f.mode == "fill" {
			err = p.client.AuditPreemption(t.partition)
		}
		switch {
		case err != nil:
		case p.server != nil:
			err = p.server.Audit(ctx, p.client)
		case p.core != nil:
			err = p.client.CompareREST(ctx, p.core.HTTP)
		}
		return err
	}
	if p.forecasts != nil {
		player.AskWaits = p.forecasts.askWaits
	}
	start := map[string]func(context.Context) error{"fill": player.Fill, "lifetimes": player.Lifetimes,
		"durations": player.Durations}[f.mode]
	if err := start(ctx); err != nil {
		return nil, err
	}
	r := &replayReport{Report: p.client.Report(), log: p.client.Log(), Rejections: firstRejections(p.client.Rejections()),
		ExpectedStart: p.forecasts.report()}
	r.Preemption = replayPreemption{Mode: onOff(preempts), Possible: player.Preempts, Preemption: player.Preemption()}
	var err error
	if r.Balance, err = p.client.Balance(); err != nil {
		return nil, fmt.Errorf("the accounting does not balance: %w", err)
	}
	r.Queues = p.client.QueueLines(t.partition)
	if p.server != nil {
		snap, err := p.server.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		r.Queues = demo.QueueLines(snap)
	}
	return r, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// createDecisions creates the file of that name; empty: the decisions are discarded.
func createDecisions(name string) (io.WriteCloser, error) {
	if name == "" {
		return discardCloser{io.Discard}, nil
	}
	return os.Create(name)
}

type discardCloser struct{ io.Writer }

func (discardCloser) Close() error { return nil }

func writeDecisions(out io.Writer, log []sim.Event) error {
	buffered := bufio.NewWriter(out)
	for _, e := range log {
		switch e.Kind {
		case sim.Placed:
			fmt.Fprintf(buffered, "%s %s\n", e.Key, e.Node)
		case sim.Preempted:
			fmt.Fprintf(buffered, "%s %s preempted\n", e.Key, e.Node)
		}
	}
	return buffered.Flush()
}
