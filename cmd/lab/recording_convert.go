package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/formerformat"
)

const recordingConvertHelp = `Convert a recording in a format before this one, and write it to another directory.
Its steps keep the digests of their effects, so 'canopy-lab recording play' compares as it would
have before.

What had several begins becomes several sessions. Checkpoints are left out. Steps behind a gap,
or of which the first files were removed, cannot be converted until the next registration of a
resource manager: the error says how many they are.

The exit code is 0 when all was converted, 1 when something could not be, and 2 when the
arguments are invalid.`

func recordingConvertCommand() *cobra.Command {
	return &cobra.Command{
		Use: "convert OLD NEW", Short: "Convert a recording in a format before this one", Long: recordingConvertHelp,
		Example: "  canopy-lab recording convert rec-before rec",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && !isSameFile(args[0], args[1]) {
				return nil
			}
			return cmdline.Exit(cmdline.Usage,
				errors.New("canopy-lab recording convert takes two directories, that of the recording and another one"))
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := formerformat.Convert(args[0], args[1]); err != nil {
				return cmdline.Exit(cmdline.Refused, fmt.Errorf("%s: %w", args[0], err))
			}
			return nil
		},
	}
}
