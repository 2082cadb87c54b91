package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// exitCodes says what the exit codes of each command mean: it is the help topic exit-codes, and
// the table in docs/EXIT_CODES.md, which a test holds to it.
var exitCodes = []struct{ command, zero, one, two string }{
	{"serve", "it was ended by a signal", "the configuration has errors, or a port cannot be opened", "a file cannot be read"},
	{"validate", "all files are valid, perhaps with warnings", "a file has errors, or with --strict warnings", "a file cannot be read, or the server cannot be reached"},
	{"plan", "nothing changes", "a file has errors or cannot be read, the server cannot be reached, or the arguments make no sense", "something changes"},
	{"place", "the application is placed", "it is rejected", "the file has errors or cannot be read"},
	{"test", "everything is as expected", "something is not", "a file has mistakes or cannot be read"},
	{"explain", "the key is known", "it is not, or the server does not answer", ""},
	{"preempt", "with --dry-run: the ask would be placed", "it would not", "the ask makes no sense, or the server does not answer"},
	{"events", "everything was printed", "the server cannot be reached, or refuses", ""},
	{"demo", "every check held", "one did not", ""},
	{"replay", "every invariant held, and every task that could be placed was", "not so", "a file cannot be read, or the server does not answer"},
	{"trace-synth", "both files were written", "one was not", ""},
	{"bench run", "everything was measured", "a cell failed, a decision was out of order, or it was interrupted", ""},
	{"bench compare", "nothing is worse", "something is", "a file cannot be read, or is no report"},
	{"bench list", "it was printed", "", ""},
	{"schema", "it was printed", "", ""},
	{"version", "it was printed", "", ""},
	{"help", "there is help", "", "there is no such command or topic"},
}

const exitCodesIntro = `The exit code of every command is 0 for success, 1 for a refusal or a failure, also when
the output cannot be written, and 2 when the arguments make no sense: a command or a flag
that does not exist, a flag that is missing or has no such value. Of plan, 2 says that
something would change, and arguments that make no sense have 1. Of commands that give a
verdict, such as validate or place, 2 says that there is none: their output cannot be
written either. serve has 3 when it was told to end and could not within its time, and 128
and the number of the signal when a second one came.`

func exitCodesCommand() *cobra.Command {
	var b strings.Builder
	b.WriteString(exitCodesIntro + "\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "\n%s\n", c.command)
		for i, means := range []string{c.zero, c.one, c.two} {
			if means != "" {
				fmt.Fprintf(&b, "  %d  %s\n", i, means)
			}
		}
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes of the commands mean", Long: strings.TrimSuffix(b.String(), "\n")}
}

// helpCommand is cobra's, but for topics that do not exist: asking for one is a mistake.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Help about a command or a topic",
		Long:  "Print the help of a command, or about a topic such as exit-codes.",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return exitError{exitUsage, fmt.Errorf("there is no help about %q; 'canopy help' lists what there is", strings.Join(args, " "))}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// rejectUnknownSubcommands has commands that only group others refuse what is none of them, at every
// level: cobra prints their help and succeeds.
func rejectUnknownSubcommands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		rejectUnknownSubcommands(sub)
	}
	if !c.HasParent() || c.Runnable() || !c.HasSubCommands() {
		return
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exitError{exitUsage, fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())}
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// writeExitCodes writes docs/EXIT_CODES.md.
func writeExitCodes(out io.Writer) error {
	l := &lineWriter{out: out}
	l.add("# Exit codes\n\n" + exitCodesIntro + "\n\n`canopy help exit-codes` prints the same.\n\n| Command | 0 | 1 | 2 |\n|---|---|---|---|")
	for _, c := range exitCodes {
		l.add(fmt.Sprintf("| `%s` | %s | %s | %s |", c.command, c.zero, c.one, c.two))
	}
	return l.err
}
