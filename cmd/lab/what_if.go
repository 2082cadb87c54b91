package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const whatIfHelp = `Make the commands of a recording again with another configuration or other nodes, on virtual
time, and compare what comes of it with what was recorded: for each queue and user how long
asks waited, what never ran, what was preempted, and what queues had.

Each figure is "recorded > changed", or once where both are equal. Asks come when they were
recorded, and allocations run as long as they did, whenever they start. What the recording
does not know is estimated from it; the assumptions that were needed are printed with the
result. Without a change every ask starts when it did.

Of each partition the last session is taken, or with --at the one that a time falls into. A
session begins with a start of the server, or a registration of a resource manager.

The exit code is 0 when the comparison was printed, 1 when the configuration has errors, or
this version of Canopy does not make the recorded decisions, and 2 when the recording cannot
be read, has no asks, or the arguments are invalid.`

const whatIfExamples = `  canopy-lab what-if rec --config new.yaml
  canopy-lab what-if rec --nodes +20:gpu --without-preemption --html report.html
  canopy-lab what-if rec --config new.yaml --partition default --output json | jq '.[0].changed.queues'`

// whatIfFlags are the flags as given.
type whatIfFlags struct {
	config, partition, at, output, html string
	nodes                               []string
	withoutPreemption                   bool
	bounds                              queuesyaml.Options
}

// whatIfCommand runs a recording against another configuration (WIF-5 to WIF-7).
func whatIfCommand() *cobra.Command {
	var f whatIfFlags
	cmd := &cobra.Command{
		Use: "what-if DIRECTORY", Short: "Say what a recording would have come to with other queues or nodes",
		Long: whatIfHelp, Example: whatIfExamples,
		Args: directoryArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			scenario, err := f.scenario(cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return f.run(args[0], scenario, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "",
		"the `FILE` with the queues to try, in the form of queues.yaml; - for standard input; not given: those that were "+
			"recorded")
	flags.StringArrayVar(&f.nodes, "nodes", nil,
		"nodes to add or to take away: `+20:NAME` adds 20 like the node NAME, or like the first with an attribute of that "+
			"value, -3:NAME takes 3 such away; may be given several times")
	flags.BoolVar(&f.withoutPreemption, "without-preemption", false, "nothing is preempted")
	flags.StringVar(&f.partition, "partition", "", "only the partition of this `NAME`; not given: all")
	flags.StringVar(&f.at, "at", "",
		"the session that this `TIME` falls into: RFC 3339, or how long ago; not given: the last one")
	cmdline.OutputFlag(flags, &f.output)
	flags.StringVar(&f.html, "html", "", "also write one page with charts to this `FILE`")
	cmdline.AddBounds(flags, &f.bounds)
	return cmd
}

// scenario returns the scenario that the flags describe.
func (f *whatIfFlags) scenario(in io.Reader, errs io.Writer) (*whatif.Scenario, error) {
	s := &whatif.Scenario{WithoutPreemption: f.withoutPreemption}
	wrong := []error{cmdline.CheckTime("--at", f.at), cmdline.CheckBounds(f.bounds),
		refuseSameFile(namedFile{"html", f.html}, namedFile{"config", f.config})}
	for _, text := range f.nodes {
		c, err := whatif.ParseNodeChange(text)
		if err != nil {
			err = fmt.Errorf("--nodes: %w", err)
		}
		s.Nodes, wrong = append(s.Nodes, c), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	if f.config == "" {
		return s, nil
	}
	var err error
	s.Config, err = cmdline.LoadConfig("--config", f.config, in, errs, f.bounds)
	return s, err
}

func (f *whatIfFlags) run(dir string, scenario *whatif.Scenario, out, errs io.Writer) error {
	sessions, err := f.sessions(dir)
	if err != nil {
		return err
	}
	all, progress := []*whatif.Comparison{}, cmdline.ProgressOn(errs)
	defer progress.End()
	var nothing error
	for _, s := range sessions {
		c, err := whatif.Compare(s, scenario, func(at time.Time) {
			progress.Redraw("partition " + s.Partition + ": " + at.UTC().Format(time.DateTime))
		})
		switch differs := new(whatif.DifferenceError); {
		case errors.Is(err, whatif.ErrNothing):
			nothing = err // another partition may have asks
			continue
		case errors.As(err, &differs):
			return cmdline.Exit(cmdline.Refused, err)
		case err != nil:
			return cmdline.Exit(cmdline.Usage, err)
		}
		all = append(all, c)
	}
	progress.End() // before the result
	if len(all) == 0 {
		return cmdline.Exit(cmdline.Usage, nothing)
	}
	if f.html != "" {
		var page bytes.Buffer
		if err := whatif.WriteHTML(&page, all); err != nil {
			return err
		}
		if err := os.WriteFile(f.html, page.Bytes(), 0o644); err != nil {
			return cmdline.Exit(cmdline.Usage, fmt.Errorf("--html: %w", err))
		}
	}
	if f.output == "json" {
		return cmdline.PrintJSON(out, all)
	}
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := c.WriteText(out); err != nil {
			return err
		}
	}
	return nil
}

// sessions are, of each partition that the flags select, the last session, or the one that a time falls into.
func (f *whatIfFlags) sessions(dir string) ([]recording.Session, error) {
	selected, err := (&recordingFlags{partition: f.partition}).sessions(dir)
	if err != nil {
		return nil, err
	}
	at := timeOf(f.at, time.Now())
	var out []recording.Session // they are ordered by partition and time
	for _, s := range selected {
		if !at.IsZero() && s.Began.After(at) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Partition == s.Partition {
			out[n-1] = s
		} else {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, cmdline.Exit(cmdline.Usage,
			fmt.Errorf("--at: nothing was recorded before %s", at.UTC().Format(time.RFC3339)))
	}
	return out, nil
}
