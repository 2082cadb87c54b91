package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const planHelp = `Say what a new queues.yaml would change, before it is put in force.

Effective values are compared, not the text: comments, the order of keys and other
spellings of a quantity change nothing, and a lower max of a parent changes the queues
below it, too. A value that a queue or a limit has from a queue above is marked as
inherited.

The new file is compared with the configuration in force at a running server (--address),
or with another file (--against). With a server the plan also has the impact on its
applications: queues that would be over their new max, users and groups over their new
limits, and class quotas that would be exceeded, by how much; changes from leaf to parent
or back that would be refused because of applications; and users that would lose submit
access; and dynamic leaves whose child template changes, with what they keep or get.
With both flags the files are compared, and only the impact is that of the server.
There is a warning for each resource of the new file that no node of the server has.

The exit code is 0 when nothing would change, 2 when something would, and 1 when a file has
errors or cannot be read, the server cannot be reached, or the arguments are invalid.`

const planExamples = `  canopy plan --config new.yaml --against queues.yaml
  canopy plan --config new.yaml --address 127.0.0.1:9080
  canopy plan --config new.yaml --address 127.0.0.1:9080 --output json | jq .overMax`

const exitImpact = 2 // of plan alone: something would change; usage errors are exitRefused there

// planFlags are the flags as given.
type planFlags struct {
	client
	config, against, color string
	bounds                 queuesyaml.Options
}

// planCommand compares a new configuration with another one, or with that of a server (CFG-126).
func planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:     "plan --config FILE (--address HOST:PORT | --against FILE)",
		Short:   "Say what a new queues.yaml would change",
		Long:    planHelp,
		Example: planExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			return withExitRefused(errors.Join(cmdline.NoArguments(cmd, args), f.check()))
		},
		RunE: untilInterrupt(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			p, err := f.plan(ctx, cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return withExitRefused(err)
			}
			if err := f.printPlan(cmd.OutOrStdout(), cmd.ErrOrStderr(), &p); err != nil {
				return withExitRefused(err)
			}
			if p.Impact {
				return cmdline.Exit(exitImpact, nil)
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the new queues.yaml `FILE` (- is standard input)")
	flags.StringVar(&f.against, "against", "", "queues.yaml `FILE` that is in force now")
	flags.StringVar(&f.partition, "partition", "", "compare only the partition with this `NAME`; default: all")
	cmdline.TextFlag(flags, &f.color, "color", "auto",
		"colours of the text: auto (on a terminal, unless NO_COLOR is set), always or never",
		cmdline.OneOf("auto", "always", "never"))
	cmdline.OutputFlag(flags, &f.output)
	f.addServer(flags, "")
	cmdline.AddBounds(flags, &f.bounds)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return withExitRefused(cmdline.PlainFlagError(err)) })
	return cmd
}

// withExitRefused replaces the exit code of an error by exitRefused. nil stays nil.
func withExitRefused(err error) error { return cmdline.WithCode(cmdline.Refused, err) }

func (f *planFlags) check() error {
	return errors.Join(cmdline.CheckBounds(f.bounds), cmdline.WrongFlags(map[string]bool{
		"--config names no file":                               f.config == "",
		"nothing to compare with: give --address or --against": f.address == "" && f.against == "",
		"--config and --against cannot both be standard input": f.config == "-" && f.against == "-",
	}))
}

// planServer returns the server of --address as plan asks it.
func (c *client) planServer() (plan.Server, error) {
	sender, err := c.access.HTTPClient(c.address, c.timeout)
	return plan.Server{Address: c.address, Client: sender}, err
}

// plan reads both configurations and the state of the server.
func (f *planFlags) plan(ctx context.Context, in io.Reader, errs io.Writer) (plan.Plan, error) {
	server, err := f.planServer()
	if err != nil {
		return plan.Plan{}, err
	}
	bounds := f.bounds
	if f.address != "" {
		if bounds.NodeCapacity, err = server.NodeCapacity(ctx); err != nil {
			return plan.Plan{}, err
		}
	}
	proposed, err := cmdline.LoadProposal("--config", f.config, in, errs, bounds)
	if err != nil {
		return plan.Plan{}, err
	}
	after := proposed.Config
	var before *configs.Config
	if f.against != "" {
		var old *reload.Proposal // its warnings are not reported: it is in force already
		if old, err = cmdline.LoadProposal("--against", f.against, in, errs, f.bounds); err == nil {
			before = old.Config
		}
	} else if before, err = server.Config(ctx, f.bounds); errors.Is(err, plan.ErrNoConfig) {
		err = fmt.Errorf("%w; name the file that is in force with --against", err)
	}
	if err != nil {
		return plan.Plan{}, err
	}
	was, is := f.partitionNames(before), f.partitionNames(after)
	var partitions []string
	if f.partition != "" {
		if len(was)+len(is) == 0 {
			return plan.Plan{}, fmt.Errorf("--partition: neither configuration has %q", f.partition)
		}
		partitions = []string{f.partition}
	}
	var state plan.State
	if f.address != "" {
		if state, err = server.State(ctx, was, is); err != nil {
			return plan.Plan{}, err
		}
	}
	p := plan.Compute(before, after, state, partitions...)
	p.Warnings = append(p.Warnings, proposed.Warnings...)
	return p, nil
}

// partitionNames lists the partitions of c that are compared.
func (f *planFlags) partitionNames(c *configs.Config) []string {
	var out []string
	for _, p := range c.Partitions {
		if f.partition == "" || p.Name == f.partition {
			out = append(out, p.Name)
		}
	}
	return out
}

func (f *planFlags) printPlan(out, errs io.Writer, p *plan.Plan) error {
	if f.output == "json" {
		return cmdline.PrintJSON(out, p)
	}
	for _, w := range p.Warnings.Merged() {
		fmt.Fprintln(errs, w.WithFile(f.config))
	}
	colours := f.color == "always" || f.color == "auto" && cmdline.IsTerminal(out) && os.Getenv("NO_COLOR") == ""
	return printPlan(out, p, colours)
}
