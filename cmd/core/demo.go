package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/sim"
)

const demoHelp = `Start a scheduler and a simulated resource manager in this process and let them talk.

The two speak gRPC over the loopback address, as a scheduler and a shim on two
machines would. Three tenants share a made-up cluster: one is more important than the
others, one keeps its priorities behind a fence, one takes what is left. Asks of mixed
priorities come in waves, each for more than there is room, and in between work ends.
When all have come, work ends until the last ask has its place.

Then a small cluster is filled with work that is not important, and one ask comes that is:
some are told to leave, the resource manager says that they have, and the ask is placed on
the node that it was nominated for.

Each time the cluster is at rest everything is checked: that all books add up, that
nothing holds more than it may, and that no ask waits that could be placed. The exit
code is 0 only if that always held, 1 otherwise, and 2 for arguments that make no
sense. The same size and seed give the same cluster and the same asks.`

const demoExamples = `  canopy demo
  canopy demo --nodes 1000 --asks 100000
  canopy demo --seed 7 --output json`

// demoCommand shows a cluster at work.
func demoCommand() *cobra.Command {
	var size sim.Size
	var output string
	cmd := &cobra.Command{
		Use:           "demo",
		Short:         "Show a cluster at work, in one process",
		Long:          demoHelp,
		Example:       demoExamples,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkSize(size), checkOutput(output)); err != nil {
				return exitError{exitUsage, err}
			}
			r, err := demo(cmd.Context(), size, progressOn(cmd.ErrOrStderr()))
			if err != nil {
				return exitError{exitRefused, err}
			}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return writeReport(cmd.OutOrStdout(), r.Report, r.summary())
		},
	}
	f := cmd.Flags()
	f.IntVar(&size.Nodes, "nodes", 100, "number of nodes; they have 8, 16 or 32 cores with 4 GiB each")
	f.IntVar(&size.Queues, "queues", 40, "number of queues below root: three tenants, and their leaves")
	f.IntVar(&size.Asks, "asks", 5000, "number of asks; they take 0.5 to 4 cores")
	f.Uint64Var(&size.Seed, "seed", 1, "number that the made-up cluster and its asks depend on")
	f.StringVarP(&output, "output", "o", "text", "how to print the result: text or json")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, err} })
	return cmd
}

func checkSize(s sim.Size) error {
	within := func(flag string, n, least, most int) error {
		if n < least || n > most {
			return fmt.Errorf("--%s is %d, and must be from %d to %d", flag, n, least, most)
		}
		return nil
	}
	return errors.Join(
		within("nodes", s.Nodes, 1, sim.MostNodes),
		within("queues", s.Queues, sim.LeastQueues, sim.MostQueues),
		within("asks", s.Asks, 1, sim.MostAsks),
	)
}

// demoReport is what came of a demo. Its JSON form is for other programs, so names stay.
type demoReport struct {
	sim.Report
	Preemption *sim.Scene `json:"preemption"`
}

// demo runs a workload, sums it up, and then shows a preemption.
func demo(ctx context.Context, size sim.Size, progress *progress) (*demoReport, error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r := &demoReport{}
	var err error
	if r.Report, err = demoWork(ctx, size, progress); err != nil {
		return nil, err
	}
	if r.Preemption, err = demoPreemption(ctx); err != nil {
		return nil, fmt.Errorf("preemption: %w", err)
	}
	return r, nil
}

func demoWork(ctx context.Context, size sim.Size, progress *progress) (r sim.Report, err error) {
	w := sim.NewWorkload(size)
	pair, err := startPair(ctx, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, pair.close()) }()
	if err := pair.client.Register(ctx, w.Config); err != nil {
		return r, err
	}
	d := sim.Demo{
		Client: pair.client, Workload: w, Progress: progress.phase,
		Audit: func(ctx context.Context) error { return pair.server.Audit(ctx, pair.client) },
	}
	err = d.Run(ctx)
	progress.end()
	if err != nil {
		return r, err
	}
	snap, err := pair.server.Snapshot(ctx)
	if err != nil {
		return r, err
	}
	r = pair.client.Report()
	r.Queues = sim.Lines(snap)
	return r, nil
}

// demoPreemption has a scheduler of its own, over gRPC as well.
func demoPreemption(ctx context.Context) (scene *sim.Scene, err error) {
	pair, err := startPair(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pair.close()) }()
	if err := pair.client.Register(ctx, sim.SceneConfig); err != nil {
		return nil, err
	}
	return sim.Play(ctx, pair.server, pair.client)
}

func (r *demoReport) summary() []string {
	return append([]string{"every invariant held, and every ask that could be placed was", ""}, r.Preemption.Lines()...)
}
