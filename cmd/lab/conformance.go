package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/conformance"
)

const conformanceHelp = `Drive an endpoint of the scheduler interface through named cases, and say
which it fails and why.

The command is a resource manager with a virtual cluster. It registers for each case anew, which
makes the scheduler forget what was reported before: do not run it against a scheduler in use. It
sends the configuration that the cases need when it registers, so the scheduler must not have one of
its own (canopy serve without --config), and no other resource manager may be registered.

Cases about what the interface does not promise are run with --features only: canopy is what
Canopy reads in tags and attributes of its own, such as pod affinity and virtual placeholders, and
its service of hints. Without the feature they are skipped, and reports say why.

A case compares what is answered, not the words of reasons. An answer that no case demands is a
failure, except for states of applications.

The exit code is 0 when all cases pass, 1 when a case fails or the endpoint does not answer, and 2
when the arguments are invalid.`

const conformanceExamples = `  canopy-lab conformance --address 127.0.0.1:3333
  canopy-lab conformance --run 'gangs/*' --report junit.xml
  canopy-lab conformance --features canopy
  canopy-lab conformance --list`

// conformanceFlags are the flags as given.
type conformanceFlags struct {
	address, only, report, output string
	timeout                       time.Duration
	features                      []string
	list                          bool
	access                        cmdline.ClientAccess
}

// conformanceCommand runs the conformance cases against an endpoint.
func conformanceCommand() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:     "conformance",
		Short:   "Test an endpoint of the scheduler interface",
		Long:    conformanceHelp,
		Example: conformanceExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			if f.list {
				return f.printCases(cmd.OutOrStdout())
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return f.run(ctx, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "address", "127.0.0.1:3333", "`HOST:PORT` of the gRPC interface of the scheduler")
	flags.StringVar(&f.only, "run", "", "run the cases whose names match this `PATTERN` only, such as 'gangs/*'")
	flags.StringSliceVar(&f.features, "features", nil,
		"also run the cases of these `FEATURES`, which the interface does not promise: canopy is Canopy's own tags and hints")
	flags.StringVar(&f.report, "report", "",
		"also write the results to this `FILE`, in the form of JUnit; it stays empty if there is no verdict")
	cmdline.OutputFlag(flags, &f.output)
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long each answer may take")
	flags.BoolVar(&f.list, "list", false, "print the cases with what they demand, and run none")
	f.access.Add(flags)
	return cmd
}

func (f *conformanceFlags) check() error {
	var wrong []error
	if _, _, err := net.SplitHostPort(f.address); err != nil {
		wrong = append(wrong, fmt.Errorf("--address: %w", err))
	}
	if f.timeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--timeout is %v, and must be above 0", f.timeout))
	}
	features := f.features
	if _, _, err := conformance.Select("", features...); err != nil || f.list {
		features = conformance.Features()
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--features: %w", err))
		}
	}
	if _, _, err := conformance.Select(f.only, features...); err != nil {
		wrong = append(wrong, fmt.Errorf("--run: %w", err))
	}
	return errors.Join(wrong...)
}

// printCases prints the selected cases, those of all features included.
func (f *conformanceFlags) printCases(out io.Writer) error {
	cases, _, err := conformance.Select(f.only, conformance.Features()...)
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	if f.output == "json" {
		type listed struct {
			Name    string `json:"name"`
			Demand  string `json:"demand"`
			Source  string `json:"source"`
			Feature string `json:"feature,omitempty"`
		}
		var all []listed
		for _, c := range cases {
			all = append(all, listed{c.Name, c.Demand, c.Source, c.Feature})
		}
		return cmdline.PrintJSON(out, all)
	}
	for _, c := range cases {
		feature := ""
		if c.Feature != "" {
			feature = " [feature " + c.Feature + "]"
		}
		if _, err := fmt.Fprintf(out, "%s%s\n    %s (%s)\n", c.Name, feature, c.Demand, c.Source); err != nil {
			return err
		}
	}
	return nil
}

func (f *conformanceFlags) run(ctx context.Context, out io.Writer) error {
	options, err := f.access.DialOptions(f.address)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(f.address, options...)
	if err != nil {
		return cmdline.Exit(cmdline.Usage, fmt.Errorf("--address: %w", err))
	}
	defer conn.Close()
	junit, err := f.createReport()
	if err != nil {
		return cmdline.Exit(cmdline.Refused, fmt.Errorf("--report: %w", err))
	}
	report := &conformance.Report{Address: f.address}
	if _, report.Skipped, err = conformance.Select(f.only, f.features...); err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	opt := conformance.Options{Only: f.only, Features: f.features, Timeout: f.timeout, Now: time.Now}
	if f.output == "text" {
		opt.Progress = func(r conformance.Result) { printResult(out, r) }
	}
	report.Results, err = conformance.Run(ctx, conn, opt)
	if err != nil {
		return cmdline.Exit(cmdline.Refused, errors.Join(fmt.Errorf("%s: %w", f.address, err), junit.Close()))
	}
	written := errors.Join(report.WriteJUnit(junit), junit.Close())
	failed := report.Failed()
	if f.output == "json" {
		if err := cmdline.PrintJSON(out, report); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(out, "%d passed, %d failed%s\n", len(report.Results)-failed, failed,
		skippedText(len(report.Skipped))); err != nil {
		return err
	}
	switch {
	case written != nil:
		return cmdline.Exit(cmdline.Refused, fmt.Errorf("--report: %w", written))
	case failed > 0:
		return cmdline.Exit(cmdline.Refused, nil)
	}
	return nil
}

// createReport creates the file of the JUnit report, before anything is run. It stays empty if there is no verdict.
func (f *conformanceFlags) createReport() (io.WriteCloser, error) {
	if f.report == "" {
		return noFile{}, nil
	}
	return os.Create(f.report)
}

// noFile is the file of a report that is not wanted.
type noFile struct{}

func (noFile) Write(text []byte) (int, error) { return len(text), nil }
func (noFile) Close() error                   { return nil }

// skippedText says how many cases were not run; empty: none.
func skippedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d skipped (--features)", n)
}

// printResult prints a line for a case, and why it failed. An error of out shows when the sum is printed.
func printResult(out io.Writer, r conformance.Result) {
	if r.Failure == nil {
		fmt.Fprintf(out, "pass  %s (%.1f s)\n", r.Case.Name, r.Duration.Seconds())
		return
	}
	fmt.Fprintf(out, "FAIL  %s (%.1f s)\n      demanded: %s (%s)\n      %v\n", r.Case.Name, r.Duration.Seconds(),
		r.Case.Demand, r.Case.Source, r.Failure)
}
