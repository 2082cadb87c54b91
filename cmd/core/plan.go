package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const planHelp = `Say what a new queues.yaml would change, before it is put in force.

Effective values are compared, not the text: comments, the order of keys and other
spellings of a quantity change nothing, and a lower max of a parent changes the queues
below it, too. A value that a queue or a limit has from a queue above is marked as
inherited.

The new file is compared with the configuration in force at a running server (--address),
or with another file (--against). A server also says what the change means for its
applications: queues that would be over their new max, users and groups over their new
limits, and class quotas that would be exceeded, by how much; changes from leaf to parent
or back that would be refused because of applications; users that would lose submit
access; and dynamic leaves whose child template changes, with what they keep or get.
It warns of each resource of the new file that none of its nodes has.

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
		"give --address or --against: a server compares with the configuration that it has in force": f.address != "" &&
			f.against != "",
		"--config and --against cannot both be standard input": f.config == "-" && f.against == "-",
	}))
}

// plan compares the new file with the other one, or has the server compare it.
func (f *planFlags) plan(ctx context.Context, in io.Reader, errs io.Writer) (p plan.Plan, err error) {
	if f.address != "" {
		return f.askServer(ctx, in, errs)
	}
	proposed, err := cmdline.LoadProposal("--config", f.config, in, errs, f.bounds)
	if err != nil {
		return p, err
	}
	// The warnings of the other file are not reported: it is in force already.
	old, err := cmdline.LoadProposal("--against", f.against, in, errs, f.bounds)
	if err != nil {
		return p, err
	}
	var partitions []string
	if f.partition != "" {
		if err := plan.CheckPartition(f.partition, old.Config, proposed.Config); err != nil {
			return p, fmt.Errorf("--partition: %w", err)
		}
		partitions = []string{f.partition}
	}
	p = plan.Compute(old.Config, proposed.Config, nil, partitions...)
	p.Warnings = append(p.Warnings, proposed.Warnings...)
	return p, nil
}

// askServer returns what the server says of the new file (WEB-8).
func (f *planFlags) askServer(ctx context.Context, in io.Reader, errs io.Writer) (p plan.Plan, err error) {
	text, err := cmdline.ReadConfig(f.config, in, f.bounds)
	if err != nil {
		return p, fmt.Errorf("--config: %w", err)
	}
	path := "/ws/v1/plan"
	if f.partition != "" {
		path += "?partition=" + url.QueryEscape(f.partition)
	}
	answered, status, err := f.ask(ctx, http.MethodPost, path, text)
	if err != nil {
		return p, err
	}
	var invalid dao.InvalidConfig
	if status == http.StatusBadRequest && json.Unmarshal(answered, &invalid) == nil && invalid.Problems.HasErrors() {
		return p, cmdline.InvalidConfig("--config", f.config, errs, invalid.Problems)
	}
	if status != http.StatusOK {
		return p, f.refusal(answered, status)
	}
	if err = answer.Decode(answered, &p); err != nil {
		return p, fmt.Errorf("%s answers with an unexpected body: %w", f.address, err)
	}
	return p, nil
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
