package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

const recordingShowHelp = `Show the steps of a recording, each with its time and its number, and below it the effects. A
step is a command, or a call that makes decisions.

Effects are those of a replay from the begin of the session: a recording has only a digest of
them. What is shown ends with the first difference of the replay.

With --output json each step is a line of JSON.

The exit code is 0 when everything was shown, 1 when the replay differs, and 2 when the
recording cannot be read or the arguments are invalid.`

const recordingShowExamples = `  canopy-lab recording show rec --partition default --from 5m
  canopy-lab recording show rec --output json | jq 'select(.effects)'`

func recordingShowCommand() *cobra.Command {
	var f recordingFlags
	cmd := &cobra.Command{
		Use: "show DIRECTORY", Short: "Show commands, decisions and their effects", Long: recordingShowHelp,
		Example: recordingShowExamples,
		Args:    directoryArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			return f.show(args[0], cmd.OutOrStdout())
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// shownStep is a step as a line of JSON.
type shownStep struct {
	Partition string          `json:"partition"`
	Step      uint64          `json:"step"`
	At        time.Time       `json:"at"`
	Command   string          `json:"command"`
	Fields    json.RawMessage `json:"fields,omitempty"`
	Budget    int             `json:"budget,omitempty"`
	Effects   []string        `json:"effects,omitempty"`
}

func (f *recordingFlags) show(dir string, out io.Writer) error {
	sessions, err := f.sessions(dir)
	if err != nil {
		return err
	}
	window, different := f.window(time.Now()), false
	buffered := bufio.NewWriter(out)
	for _, s := range sessions {
		var failed error
		r, err := playback.Play(s, window, func(p playback.Played) {
			if failed == nil {
				failed = f.showStep(buffered, s.Partition, p)
			}
		})
		if err != nil {
			return cmdline.Exit(cmdline.Usage, err)
		}
		if failed != nil {
			return failed
		}
		different = different || r.Difference != nil
		if r.Difference != nil && f.output == "text" {
			fmt.Fprintf(buffered, "partition %s: %s\n", s.Partition, r.Difference)
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if different {
		return cmdline.Exit(cmdline.Refused, nil)
	}
	return nil
}

// showStep shows a step with its effects.
func (f *recordingFlags) showStep(out io.Writer, partition string, p playback.Played) error {
	s := p.Step
	if f.output == "json" {
		line := shownStep{partition, s.Number, s.At, recording.CommandName(s.Command), nil, s.Budget,
			playback.Texts(p.Effects)}
		if s.Command != nil {
			_, line.Fields, _ = recording.CommandText(s.Command)
		}
		return json.NewEncoder(out).Encode(line)
	}
	_, err := fmt.Fprintf(out, "%s %s %d %s\n", s.At.Format(time.RFC3339Nano), partition, s.Number, s)
	for _, e := range p.Effects {
		_, err = fmt.Fprintf(out, "    %s\n", e)
	}
	return err
}
