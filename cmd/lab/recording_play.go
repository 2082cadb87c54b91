package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
)

const recordingPlayHelp = `Make the decisions of a recording again, and compare their effects with those of the recorded
scheduler, step by step. A step is a command, or a call that makes decisions.

A replay ends with the first difference: it prints the step, and the effects that this
version of Canopy makes. Another version may decide otherwise; the same one never does. It
begins where a session begins: a start of the server, or a registration of a resource manager.
--from says from when on steps are counted, with --to the replay ends there. Damage ends a
session.

The exit code is 0 when all steps that could be compared are equal, 1 when one differs or none
could be compared, and 2 when the recording cannot be read or the arguments are invalid.`

const recordingPlayExamples = `  canopy-lab recording play /var/lib/canopy/recording
  canopy-lab recording play rec --partition default --from 2026-01-02T15:00:00Z --to 2026-01-02T16:00:00Z
  canopy-lab recording play rec --from 30m --output json`

func recordingPlayCommand() *cobra.Command {
	var f recordingFlags
	cmd := &cobra.Command{
		Use: "play DIRECTORY", Short: "Make the decisions of a recording again, and compare", Long: recordingPlayHelp,
		Example: recordingPlayExamples,
		Args:    directoryArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			return f.play(args[0], cmd.OutOrStdout())
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// play replays all sessions, each to its first difference.
func (f *recordingFlags) play(dir string, out io.Writer) error {
	sessions, err := f.sessions(dir)
	if err != nil {
		return err
	}
	window, results, ok := f.window(time.Now()), []playback.Result{}, false
	different := false
	for _, s := range sessions {
		r, err := playback.Play(s, window, nil)
		if err != nil {
			return cmdline.Exit(cmdline.Usage, err)
		}
		if r.Steps == 0 && r.Difference == nil && (window != (playback.Window{}) || r.Incomplete == "") {
			continue // it is outside of the window, or has nothing
		}
		ok, different = ok || r.Compared > 0, different || r.Difference != nil
		results = append(results, r)
		if f.output == "text" {
			printPlayed(out, r)
		}
	}
	if f.output == "json" {
		if err := cmdline.PrintJSON(out, results); err != nil {
			return err
		}
	}
	switch {
	case different:
		return cmdline.Exit(cmdline.Refused, nil)
	case !ok:
		return cmdline.Exit(cmdline.Refused, fmt.Errorf("%s: no step could be compared", dir))
	}
	return nil
}

// printPlayed prints the result of a session.
func printPlayed(out io.Writer, r playback.Result) {
	fmt.Fprintf(out, "partition %s, recorded since %s by canopy %s: %d steps", r.Partition, r.Began.Format(time.RFC3339),
		orUnknown(r.Canopy), r.Steps)
	if r.Steps > 0 {
		fmt.Fprintf(out, " from %s to %s", r.First.Format(time.RFC3339Nano), r.Last.Format(time.RFC3339Nano))
	}
	fmt.Fprintln(out)
	if r.Difference != nil {
		fmt.Fprintf(out, "%s\n", r.Difference)
		return
	}
	if r.Compared == 0 {
		fmt.Fprintln(out, "  no step could be compared")
	} else {
		fmt.Fprintf(out, "  equal: %d steps with %d effects\n", r.Compared, r.Effects)
	}
	if r.Incomplete != "" {
		fmt.Fprintf(out, "  steps are missing at the end: %s\n", r.Incomplete)
	}
}

func orUnknown(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}
