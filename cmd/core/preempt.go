package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const preemptHelp = `Ask a running server which victims an ask would preempt, or list past preemptions.

With --dry-run the server evaluates an ask: whether it fits on a node, and if not, for
which reason it may preempt, which victims on which node, and why no other allocation is a
victim. Nothing is changed and nothing is preempted; preemption cannot be triggered by
hand. The file is YAML or JSON:

  user: ann                    # and groups: [...]; or applicationID of an existing one
  queueName: root.prod
  priority: 4000               # or priorityClassName
  resource: {vcore: 2, memory: 4Gi}
  requiredNodeId: n7           # it accepts no other node
  preempts: true               # false: it may have no victims
  assumeDelayPassed: true      # as if preemption.delay was over
  explainNode: n3              # whose allocations are listed; default: the node of the plan

Of an ask that is pending at the server, "allocationKey: KEY" is enough.

With --list the last preemptions are listed, the newest first, and with --show one of them is
shown with all candidates on the node.

The exit code of --dry-run is 0 when the ask would be placed, now or when its victims have ended, and
1 when it would not. It is 2 when the ask or the arguments are invalid, or the server does not
answer.`

const preemptExamples = `  canopy preempt --dry-run --ask ask.yaml
  echo 'allocationKey: web-1' | canopy preempt --dry-run --ask - --json
  canopy preempt --list --reason guarantee
  canopy preempt --show 17`

// preemptFlags are the flags as given.
type preemptFlags struct {
	client
	dryRun, list, json         bool
	show                       uint64
	ask                        string
	application, queue, reason string
	limit                      int
}

// preemptCommand shows dry runs of preemption, and past preemptions, of a server.
func preemptCommand() *cobra.Command {
	var f preemptFlags
	cmd := &cobra.Command{
		Use: "preempt (--dry-run --ask FILE | --list | --show NUMBER)", Long: preemptHelp, Example: preemptExamples,
		Short: "Show which victims an ask would preempt, or list past preemptions", Args: cmdline.NoArguments,
		RunE: untilInterrupt(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			err := f.check(cmd.Flags())
			if err == nil {
				err = f.run(ctx, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			if exit := new(cmdline.ExitError); err != nil && !errors.As(err, exit) {
				return cmdline.Exit(cmdline.Usage, err) // exit code 1 means that the ask would not be placed
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "evaluate the ask of --ask; nothing is changed")
	flags.StringVar(&f.ask, "ask", "", "YAML or JSON `FILE` with the ask of a dry run (- is standard input)")
	flags.BoolVar(&f.list, "list", false, "list the last preemptions, the newest first")
	flags.Uint64Var(&f.show, "show", 0, "show the preemption with this `NUMBER`, from 1 on")
	flags.StringVar(&f.application, "application", "",
		"list only those with an ask or a victim of the application with this `ID`")
	flags.StringVar(&f.queue, "queue", "",
		"list only those with an ask or a victim in the queue at this `PATH`, or below it")
	flags.StringVar(&f.reason, "reason", "",
		"list only those for this reason: node, guarantee, fairshare, priority, quota, pressure or operator")
	cmdline.IntFlag(flags, &f.limit, "limit", 20, "list so many at most", 1)
	flags.BoolVar(&f.json, "json", false, "the same as --output json")
	f.add(flags, defaultREST)
	return cmd
}

// check refuses flags that do not go together.
func (f *preemptFlags) check(flags *pflag.FlagSet) error {
	modes := 0
	for _, mode := range []string{"dry-run", "list", "show"} {
		if flags.Changed(mode) {
			modes++
		}
	}
	filtered := false
	for _, name := range []string{"application", "queue", "reason", "limit"} {
		filtered = filtered || flags.Changed(name)
	}
	if f.json {
		f.output = "json"
	}
	return cmdline.WrongFlags(map[string]bool{
		"preemption cannot be triggered by hand, there is a dry run only: " +
			"give --dry-run with --ask, or --list, or --show": modes == 0,
		"--dry-run, --list and --show exclude each other":             modes > 1,
		"--ask names no file":                                         f.dryRun && f.ask == "",
		"--ask is for --dry-run":                                      !f.dryRun && f.ask != "",
		"--application, --queue, --reason and --limit are for --list": filtered && !f.list,
		"--show takes the number of a preemption, from 1 on":          flags.Changed("show") && f.show == 0,
	})
}

// run carries out what the flags say.
func (f *preemptFlags) run(ctx context.Context, in io.Reader, out io.Writer) error {
	switch {
	case f.dryRun:
		return f.runDry(ctx, in, out)
	case f.list:
		q := url.Values{"limit": {strconv.Itoa(f.limit)}}
		for name, value := range map[string]string{"application": f.application, "queue": f.queue, "reason": f.reason} {
			if value != "" {
				q.Set(name, value)
			}
		}
		var all preemptionList
		text, err := f.decode(ctx, http.MethodGet, f.path("preemptions")+"?"+q.Encode(), nil, &all)
		if err != nil {
			return err
		}
		return f.print(out, text, func(out io.Writer) error { return printPreemptions(out, &all) })
	}
	var p preemptionAnswer
	text, err := f.decode(ctx, http.MethodGet, f.path("preemptions", strconv.FormatUint(f.show, 10)), nil, &p)
	if err != nil {
		return err
	}
	return f.print(out, text, func(out io.Writer) error { return printPreemption(out, &p) })
}

func (f *preemptFlags) runDry(ctx context.Context, in io.Reader, out io.Writer) error {
	ask, err := f.readAsk(in)
	if err != nil {
		return err
	}
	var s dryRunAnswer
	text, err := f.decode(ctx, http.MethodPost, f.path("preemptions", "dry-run"), ask, &s)
	if err == nil {
		err = f.print(out, text, func(out io.Writer) error { return printDryRun(out, &s) })
	}
	if err == nil && (s.Outcome == scheduler.WouldNotFit || s.Outcome == scheduler.WouldNotStart) {
		return cmdline.Exit(cmdline.Refused, nil)
	}
	return err
}

// maxAskFileBytes is one byte more than a server accepts.
const maxAskFileBytes = 64<<10 + 1

func (f *preemptFlags) readAsk(in io.Reader) ([]byte, error) {
	if f.ask != "-" {
		file, err := os.Open(f.ask)
		if err != nil {
			return nil, fmt.Errorf("--ask: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxAskFileBytes))
	if err != nil {
		return nil, fmt.Errorf("--ask: %s: %w", f.ask, err)
	}
	return text, nil
}
