package main

import "github.com/canopy-scheduler/canopy/internal/cli/cmdline"

// exitCodes says what the exit codes mean. It is the help topic exit-codes and a part of docs/EXIT_CODES.md; a test
// compares them.
var exitCodes = cmdline.ExitCodes{
	Program: "canopy-lab",
	Intro: `0 is success, 1 a negative verdict or a failure, also when the output cannot be written,
and 2 invalid arguments: an unknown command or flag, a missing flag, an invalid value, or a
file that cannot be read.`,
	Commands: [][4]string{
		{"replay", "every invariant held, and every task that could be placed was",
			"an invariant was violated, such a task was not placed, or kills have changed how many were",
			"a file cannot be read, or the server refuses or does not answer"},
		{"recording play", "all steps that could be compared are equal", "a step differs, or none could be compared",
			"the recording cannot be read"},
		{"what-if", "the comparison was printed", "the configuration has errors, or the recorded decisions are not made",
			"the recording cannot be read, or has no asks"},
		{"tune", "a change meets the objective, or none is needed",
			"no change was found, the configuration has errors, or the recorded decisions are not made",
			"the recording cannot be read, or has no asks of the queue"},
		{"recording show", "everything was shown", "the replay differs", "the recording cannot be read"},
		{"recording excerpt", "the excerpt was printed", "there is no such effect, or the replay differs before it",
			"the recording cannot be read"},
		{"recording convert", "all was converted", "something could not be converted", ""},
		{"conformance", "all cases passed, or were listed", "a case failed, or the endpoint refuses or does not answer", ""},
		{"trace-synth", "both files were written", "a file could not be written", ""},
		{"bench run", "everything was measured", "a cell failed, or it was interrupted", ""},
		{"bench compare", "no figure is worse", "a figure is worse",
			"nothing was compared, or a file cannot be read or is no report"},
		{"bench list", "it was printed", "", ""},
		{"version", "it was printed", "", ""},
		{"help", "it was printed", "", "there is no such command or topic"},
	},
}
