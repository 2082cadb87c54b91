package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

const recordingHelp = `Read a recording that 'canopy serve --record' has written: make its decisions again, show
it, or take from it what led to an effect. The server may go on writing meanwhile.`

// recordingCommand groups the commands about recordings (REC-9, REC-10, REC-12).
func recordingCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "recording", Short: "Replay, show or shorten what was decided", Long: recordingHelp}
	cmd.AddCommand(recordingPlayCommand(), recordingShowCommand(), recordingExcerptCommand(), recordingConvertCommand())
	return cmd
}

// recordingFlags select a part of a recording.
type recordingFlags struct {
	partition, from, to, output string
}

func (f *recordingFlags) add(flags *pflag.FlagSet) {
	f.addWindow(flags)
	cmdline.OutputFlag(flags, &f.output)
}

func (f *recordingFlags) addWindow(flags *pflag.FlagSet) {
	flags.StringVar(&f.partition, "partition", "", "only the partition of this `NAME`; not given: all")
	flags.StringVar(&f.from, "from", "",
		"the begin of the window, a `TIME`: RFC 3339, or how long ago; not given: the beginning")
	flags.StringVar(&f.to, "to", "", "the end of the window, a `TIME`: RFC 3339, or how long ago; not given: the end")
}

func (f *recordingFlags) check() error {
	return errors.Join(cmdline.CheckTime("--from", f.from), cmdline.CheckTime("--to", f.to))
}

// window is the window of the flags. Requires: check has no error.
func (f *recordingFlags) window(now time.Time) playback.Window {
	return playback.Window{From: timeOf(f.from, now), To: timeOf(f.to, now)}
}

// timeOf is the time of a flag that checkTime accepts; zero: it was not given.
func timeOf(text string, now time.Time) time.Time {
	if text == "" {
		return time.Time{}
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago)
	}
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// sessions are the sessions of a directory that the flags select.
func (f *recordingFlags) sessions(dir string) ([]recording.Session, error) {
	all, err := recording.Sessions(dir)
	if err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	if f.partition == "" {
		return all, nil
	}
	all = slices.DeleteFunc(all, func(s recording.Session) bool { return s.Partition != f.partition })
	if len(all) == 0 {
		return nil, cmdline.Exit(cmdline.Usage,
			fmt.Errorf("--partition: %s has no recording of partition %q", dir, f.partition))
	}
	return all, nil
}

// directoryArgument has one directory as argument.
func directoryArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return cmdline.Exit(cmdline.Usage, fmt.Errorf("%s takes one argument, the DIRECTORY of --record", cmd.CommandPath()))
}
