package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/bench"
)

const benchHelp = `Measure the cost of scheduling decisions.

  canopy-lab bench run      measures suites of workloads, or one workload of your own
  canopy-lab bench compare  compares two reports of run
  canopy-lab bench list     lists the suites`

// benchCommand groups the commands of the benchmark.
func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the cost of scheduling decisions",
		Long:  benchHelp,
	}
	cmd.AddCommand(benchRunCommand(), benchCompareCommand(), benchListCommand(), benchSampleCommand())
	return cmd
}

// benchListCommand lists suites.
func benchListCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the suites of the benchmark",
		Long:  "List the suites that canopy-lab bench run --suite takes, each with a line that describes it.",
		Args:  cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plans := bench.List()
			if output == "json" {
				type suite struct {
					Name  string `json:"name"`
					About string `json:"about"`
					Axis  string `json:"axis,omitempty"`
					Cells int    `json:"cells"`
				}
				all := make([]suite, len(plans))
				for i, p := range plans {
					all[i] = suite{p.Name, p.About, p.Axis, p.Cells()}
				}
				return cmdline.PrintJSON(cmd.OutOrStdout(), map[string]any{"suites": all})
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, p := range plans {
				fmt.Fprintf(t, "%s\t%s\n", p.Name, p.About)
			}
			return t.Flush()
		},
	}
	cmdline.OutputFlag(cmd.Flags(), &output)
	return cmd
}

// sampleCommand is the name of the hidden command that bench run starts for each sample.
const sampleCommand = "sample"

// benchSampleCommand measures one sample, in a process that bench run has started.
func benchSampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:    sampleCommand,
		Short:  "Measure one sample: read a job from standard input, write the answer as JSON",
		Hidden: true,
		Args:   cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// An interrupt at the terminal reaches the parent too, which then ends its children.
			signal.Ignore(os.Interrupt)
			defer signal.Reset(os.Interrupt)
			orphaned := func() { os.Exit(cmdline.Refused) }
			a, err := bench.Serve(cmd.Context(), cmd.InOrStdin(), orphaned)
			if err != nil {
				return cmdline.Exit(cmdline.Refused, err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(a)
		},
	}
}
