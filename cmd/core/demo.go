package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const demoHelp = `Run a scheduler and a simulated resource manager in this process, in virtual time.

The resource manager calls the scheduler directly, without gRPC. Three tenants share a generated
cluster: production has the highest priority, research is fenced (priority.policy: fence), batch
gets the remaining resources. Asks of mixed priorities are submitted in waves, each larger than the
free resources, and half of the allocations end before each wave. The queues are shown after the
last wave, when the cluster is full and asks are pending, with the explanation of one of them. Then
allocations end until the last ask has been placed. At the end a small cluster shows a preemption,
event by event.

After each step the invariants are checked: the accounting is consistent, no quota is exceeded, and
no ask is pending that could be placed.

The same size and seed print the same bytes on standard output, on every machine. Progress, and
how long it took, go to standard error. --output json prints one object on one line: seed, nodes,
applications, asks, allocated, preempted, released, pending, rejected and allocatedResources at
the end; steps, one for each minute of the cluster; full, the cluster after the last wave with all
queues; waitingAsk, the ask with the highest priority that is pending then, as canopy explain prints
it; and preemption with its timeline. Quantities are in the smallest unit: millicores and bytes.

The exit code is 0 when every invariant held, 1 otherwise, and 2 when the arguments are invalid.`

const demoExamples = `  canopy demo
  canopy demo --nodes 1000 --asks 100000
  canopy demo --seed 7 --output json`

// demoCommand runs a generated workload and a preemption.
func demoCommand() *cobra.Command {
	var size demo.Size
	var output string
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Run a simulated cluster and a preemption, in one process",
		Long:    demoHelp,
		Example: demoExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkSize(size); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			errs := cmd.ErrOrStderr()
			r, err := runDemo(size, cmdline.ProgressOn(errs))
			if err != nil {
				return cmdline.Exit(cmdline.Refused, err)
			}
			if output == "json" {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			} else {
				err = r.write(cmd.OutOrStdout())
			}
			if err == nil {
				_, err = fmt.Fprintf(errs, "took %.1f s, %s allocations a second (this line differs from run to run)\n",
					r.Took.Seconds(), cmdline.WithThousands(int(float64(r.Allocated)/r.Took.Seconds())))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&size.Nodes, "nodes", 100, "number of nodes; they have 8, 16 or 32 cores with 4 GiB each")
	f.IntVar(&size.Queues, "queues", 40, "number of queues below root: three tenants, and their leaves")
	f.IntVar(&size.Asks, "asks", 5000, "number of asks; they take 0.5 to 4 cores")
	f.Uint64Var(&size.Seed, "seed", 1, "seed of the generated cluster and its asks")
	cmdline.OutputFlag(f, &output)
	return cmd
}

func checkSize(s demo.Size) error {
	within := func(flag string, n, least, most int) error {
		if n < least || n > most {
			return fmt.Errorf("--%s is %d, and must be from %d to %d", flag, n, least, most)
		}
		return nil
	}
	return errors.Join(
		within("nodes", s.Nodes, 1, demo.MaxNodes),
		within("queues", s.Queues, demo.MinQueues, demo.MaxQueues),
		within("asks", s.Asks, 1, demo.MaxAsks),
	)
}

// demoReport is the result of the command. Its JSON form is stable: other programs read it.
type demoReport struct {
	*demo.Report
	Queues int `json:"queuesBelowRoot"`
	// an ask of the full cluster, as REST explains it; missing: none was pending
	WaitingAsk *scheduler.Explanation `json:"waitingAsk,omitempty"`
	Preemption *demo.Preemption       `json:"preemption"`
}

// runDemo runs a workload and then a preemption, each with a scheduler of its own.
func runDemo(size demo.Size, progress *cmdline.Progress) (*demoReport, error) {
	defer progress.End()
	report, err := demo.Run(demo.NewWorkload(size), progress.Phase)
	if err != nil {
		return nil, err
	}
	r := &demoReport{Report: report, Queues: size.Queues, WaitingAsk: report.Full.TopPending}
	if r.Preemption, err = demo.RunPreemption(); err != nil {
		return nil, fmt.Errorf("preemption: %w", err)
	}
	return r, nil
}
