package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

const replayHelp = `Replay an openb trace of a GPU cluster over gRPC, in virtual time.

The files are CSV with a header. Nodes have the columns sn, cpu_milli, memory_mib and
gpu; tasks have name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos,
creation_time and deletion_time, in seconds. Other columns are ignored. gpu_milli says
how much of its GPU a task with one GPU takes, in thousandths. What gpu_spec asks for is
not honoured.

Every task is an application of its own in the queue root.<qos>, in lower case, and
belongs to a user of that name. So the configuration says which class goes first; the
one that is used without --config is examples/openb.yaml.

  --mode fill       All tasks are submitted before any node takes work; then all nodes
                    are opened at once, and nothing ends. It shows who gets a place when
                    there is not enough for all.
  --mode lifetimes  Tasks come and go at the times of the trace. What still waits when
                    it should end is withdrawn.

A replay makes the same decisions each time; --decisions writes them down. With
--address a scheduler that runs elsewhere is used instead of one in this process, and
the configuration is sent to it; one that was started with a file of its own would keep
to that. It forgets what an earlier replay has told it.

The exit code is 0 when every invariant held and every task that could be placed was, 1
when not, and 2 when the replay could not be made: arguments that make no sense, files
that cannot be read, an address where nobody answers.`

const replayExamples = `  canopy replay --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv
  canopy replay --nodes nodes.csv --pods pods.csv --mode lifetimes --output json
  canopy replay --nodes nodes.csv --pods pods.csv --address 127.0.0.1:3333 --decisions decisions.txt`

// replayFlags are the flags as given.
type replayFlags struct {
	nodes, pods, config string // names of files
	mode, output        string
	limit               int
	seed                uint64
	address             string
	decisions           string // the file to write them to; empty: none
	bounds              configs.Options
}

// replayCommand lives through a trace.
func replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:           "replay --nodes FILE --pods FILE",
		Short:         "Replay a trace of a real cluster",
		Long:          replayHelp,
		Example:       replayExamples,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return exitError{exitUsage, err}
			}
			r, placed, err := replay(cmd.Context(), f, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), f.output, r, func(r sim.Report) []string {
				return replaySummary(r, placed)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.nodes, "nodes", "", "CSV `FILE` with the nodes")
	flags.StringVar(&f.pods, "pods", "", "CSV `FILE` with the tasks")
	flags.StringVar(&f.mode, "mode", "fill", "what is replayed: fill or lifetimes")
	flags.StringVar(&f.config, "config", "", "queues.yaml `FILE` with a leaf for each QoS class")
	flags.IntVar(&f.limit, "limit", 0, "replay only the first `N` tasks; 0: all")
	flags.Uint64Var(&f.seed, "seed", 0, "other than 0: shuffle the order among tasks that are submitted together")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print the result: text or json")
	flags.StringVar(&f.address, "address", "", "`HOST:PORT` of a scheduler to use; its state is replaced")
	flags.StringVar(&f.decisions, "decisions", "", "write a line 'task node' for each allocation to `FILE`")
	addBounds(flags, &f.bounds)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, err} })
	return cmd
}

func (f *replayFlags) check() error {
	var wrong []error
	note := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	note(f.nodes == "", "--nodes names no file")
	note(f.pods == "", "--pods names no file")
	note(f.mode != "fill" && f.mode != "lifetimes", "--mode is fill or lifetimes, not %q", f.mode)
	note(f.limit < 0, "--limit is %d, and cannot be below 0", f.limit)
	return errors.Join(append(wrong, checkBounds(f.bounds), checkOutput(f.output))...)
}

// replay does what the flags say. Its errors have their exit code.
func replay(ctx context.Context, f replayFlags, stderr io.Writer) (
	r sim.Report, placed []sim.Placing, err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t, err := readTrace(f)
	if err != nil {
		return r, nil, exitError{exitUsage, err}
	}
	if n := t.specs(); n > 0 {
		fmt.Fprintf(stderr, "warning: %d of %d tasks name a model of GPU in gpu_spec, which is not honoured\n",
			n, len(t.tasks))
	}
	decisions, err := createDecisions(f.decisions)
	if err != nil {
		return r, nil, exitError{exitUsage, err}
	}
	var clock *sim.Clock
	var p *pair
	if f.address == "" {
		clock = sim.NewClock()
		p, err = startPair(ctx, clock)
	} else {
		p, err = joinScheduler(ctx, f.address)
	}
	if err != nil {
		return r, nil, exitError{exitUsage, errors.Join(err, decisions.Close())}
	}
	r, err = t.run(ctx, f, p, clock, progressOn(stderr))
	placed = p.client.Placings()
	// What was decided before a failure may explain it.
	err = errors.Join(err, writeDecisions(decisions, placed), decisions.Close(), p.close())
	if err != nil {
		return r, nil, exitError{exitRefused, err}
	}
	return r, placed, nil
}

// run lets the pair live through the trace.
func (t *trace) run(ctx context.Context, f replayFlags, p *pair, clock *sim.Clock, progress *progress) (
	r sim.Report, err error) {
	defer progress.end()
	if err := p.client.Register(ctx, t.config); err != nil {
		return r, err
	}
	live := sim.Replay{
		Client: p.client, Clock: clock, Nodes: t.nodes, Tasks: t.tasks, Seed: f.seed, Progress: progress.count,
		Audit: func(ctx context.Context) error {
			err := p.client.Audit(t.partition)
			if err == nil && p.server != nil {
				err = p.server.Audit(ctx, p.client)
			}
			return err
		},
	}
	if f.mode == "lifetimes" {
		err = live.Lifetimes(ctx)
	} else {
		err = live.Fill(ctx)
	}
	if err != nil {
		return r, err
	}
	r = p.client.Report()
	r.Queues = p.client.Lines(t.partition)
	if p.server != nil {
		snap, err := p.server.Snapshot(ctx)
		if err != nil {
			return r, err
		}
		r.Queues = sim.Lines(snap)
	}
	return r, nil
}

func replaySummary(r sim.Report, placed []sim.Placing) []string {
	var gpus int64
	for _, p := range placed {
		gpus += int64(p.Took.Get(sim.GPU))
	}
	lines := []string{fmt.Sprintf("%s of %s tasks were placed, with %s GPUs",
		grouped(len(placed)), grouped(r.Asks), short(float64(gpus)/1000))}
	if n := r.Asks - r.Allocated - r.Rejected - r.Pending; n > 0 {
		lines = append(lines, fmt.Sprintf("%s ended while they waited", grouped(n)))
	}
	return append(lines, "every invariant held, and every task that could be placed was")
}

// createDecisions opens the file of that name for writing. Without one, nothing is
// kept.
func createDecisions(name string) (io.WriteCloser, error) {
	if name == "" {
		return nowhere{io.Discard}, nil
	}
	return os.Create(name)
}

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

func writeDecisions(out io.Writer, placed []sim.Placing) error {
	buffered := bufio.NewWriter(out)
	for _, p := range placed {
		fmt.Fprintf(buffered, "%s %s\n", p.Key, p.Node)
	}
	return buffered.Flush()
}
