package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/excerpt"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const recordingExcerptHelp = `Take from a recording what leads to an effect, as few steps and queues as still
do, and print it as a text that is a test of this version of Canopy: what the scheduler is
called with, and what it answers.

--until-effect names an ask, an allocation, an application or a node: the excerpt ends with the
last effect about it in the window, or the last one whose text has --matching. With
--until-panic it ends where the scheduler panics.

Steps are left out and the rest is replayed, as long as the same effect comes. An excerpt from
which no step can be left out may take thousands of replays: --max-replays bounds them. With
--whole nothing is left out.

In internal/lab/excerpt/testdata the text is a test: its effects are compared with those
of the scheduler, and rewritten by 'go test ./internal/lab/excerpt -rewrite'.

The exit code is 0 when the excerpt was printed, 1 when there is no such effect or the replay
differs from the recording before it, and 2 when the recording cannot be read or the arguments
are invalid.`

const recordingExcerptExamples = `  canopy-lab recording excerpt rec --until-effect job-7-3 --matching preempted
  canopy-lab recording excerpt rec --until-panic >internal/lab/excerpt/testdata/issue-42.txt`

// excerptFlags say where an excerpt ends, and how short it is.
type excerptFlags struct {
	recordingFlags
	about, matching string
	panics, whole   bool
	maxReplays      int
}

func recordingExcerptCommand() *cobra.Command {
	f := excerptFlags{recordingFlags: recordingFlags{output: "text"}}
	cmd := &cobra.Command{
		Use: "excerpt DIRECTORY", Short: "Print what led to an effect, as short as possible, as a test",
		Long: recordingExcerptHelp, Example: recordingExcerptExamples,
		Args: directoryArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(f.check(), f.checkExcerpt()); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			return f.print(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	f.addWindow(flags)
	flags.StringVar(&f.about, "until-effect", "",
		"the excerpt ends with the last effect about the ask, allocation, application or node of this `NAME`")
	flags.StringVar(&f.matching, "matching", "", "only effects that have this `TEXT`, such as preempted")
	flags.BoolVar(&f.panics, "until-panic", false, "the excerpt ends with the panic with which the recording ends")
	flags.BoolVar(&f.whole, "whole", false, "leave nothing out")
	flags.IntVar(&f.maxReplays, "max-replays", 10_000,
		"how many replays are made at most to find what can be left out; above 0")
	return cmd
}

func (f *excerptFlags) checkExcerpt() error {
	var wrong []error
	if f.panics == (f.about != "") {
		wrong = append(wrong, errors.New("one of --until-effect and --until-panic is needed"))
	}
	if f.panics && f.matching != "" {
		wrong = append(wrong, errors.New("--matching is about --until-effect"))
	}
	if f.maxReplays < 1 {
		wrong = append(wrong, fmt.Errorf("--max-replays is %d, and must be above 0", f.maxReplays))
	}
	return errors.Join(wrong...)
}

// print prints the excerpt of the latest session that has one.
func (f *excerptFlags) print(dir string, out, errs io.Writer) error {
	sessions, err := f.sessions(dir)
	if err != nil {
		return err
	}
	var all excerpt.NotFoundError
	for i := len(sessions) - 1; i >= 0; i-- {
		e, target, err := excerpt.Take(sessions[i], f.window(time.Now()), f.match())
		var none *excerpt.NotFoundError
		var different *excerpt.DifferenceError
		switch {
		case errors.As(err, &none):
			all.Steps += none.Steps
			continue
		case errors.Is(err, recording.ErrNoBegin):
			fmt.Fprintf(errs, "canopy-lab: %v\n", err)
			continue
		case errors.As(err, &different):
			return cmdline.Exit(cmdline.Refused,
				fmt.Errorf("partition %s: %w\nAn excerpt would be of other decisions", sessions[i].Partition, err))
		case err != nil:
			return cmdline.Exit(cmdline.Usage, err)
		}
		return f.printShort(e, target, sessions[i], out, errs)
	}
	return cmdline.Exit(cmdline.Refused, fmt.Errorf("%s: %w", dir, &all))
}

// match returns the condition that the effect must meet; nil: a panic is meant.
func (f *excerptFlags) match() func(scheduler.Effect) bool {
	if f.panics {
		return nil
	}
	return func(e scheduler.Effect) bool {
		return excerpt.About(e, f.about) && strings.Contains(e.String(), f.matching)
	}
}

func (f *excerptFlags) printShort(e *excerpt.Excerpt, target excerpt.Target, s recording.Session, out,
	errs io.Writer) error {
	short, note := e, "nothing is left out"
	if !f.whole {
		p := cmdline.ProgressOn(errs)
		found, complete, err := e.Shorten(target,
			excerpt.Shortening{MaxReplays: f.maxReplays, Progress: func(replays, steps int) {
				p.Count(fmt.Sprintf("replays, %d steps are left", steps), replays, f.maxReplays)
			}})
		p.End()
		switch {
		case err != nil:
			fmt.Fprintf(errs, "canopy-lab: %v\n", err)
		case complete:
			short, note = found, fmt.Sprintf("%d of %d steps; none can be left out", found.Len(), e.Len())
		default:
			short, note = found,
				fmt.Sprintf("%d of %d steps; more could be left out with more than %d replays", found.Len(), e.Len(), f.maxReplays)
		}
	}
	fmt.Fprintf(out, "# Excerpt of a recording of partition %s, begun at %s: %s.\n\n", s.Partition,
		s.Began.UTC().Format(time.RFC3339), note)
	return short.Write(out)
}
