package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// exitCodes says what the exit codes mean, by classes of commands. It is the help topic exit-codes and the
// table of docs/EXIT_CODES.md; a test compares them.
var exitCodes = []struct{ commands, zero, one, two string }{
	{"serve", "a signal ended it", "errors in the configuration, or a port cannot be opened", "a file cannot be read"},
	{"validate, place, test, preempt, token check", "the verdict is positive, as the help of the command says",
		"it is negative", "there is none: a file cannot be read, or the server refuses or does not answer"},
	{"plan", "nothing would change", "a file has errors, a file or the server cannot be read, or invalid arguments",
		"something would change"},
	{"queues, apps, nodes, top, usage, explain, events, " + operatorCommandNames() + ", token new, schema, version",
		"it was printed or done, or was already the case",
		"a name is unknown, the server refuses or does not answer, or a file cannot be written", ""},
	{"demo", "every invariant held", "one was violated", ""},
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
	{"bench run", "everything was measured", "a cell failed, decisions were out of order, or it was interrupted", ""},
	{"bench compare", "no figure is worse", "a figure is worse",
		"nothing was compared, or a file cannot be read or is no report"},
	{"bench list", "it was printed", "", ""},
	{"help", "it was printed", "", "there is no such command or topic"},
}

const exitCodesIntro = `0 is success, 1 a negative verdict or a failure, also when the output cannot be written,
and 2 invalid arguments: an unknown command or flag, a missing flag, an invalid value. For
plan, 2 means that something would change, and invalid arguments are 1. For commands that
give a verdict, such as validate or place, 2 means that there is none. serve has 3 when its
termination took too long, and 128 plus the number of the signal when a second one came.`

func exitCodesCommand() *cobra.Command {
	var b strings.Builder
	b.WriteString(exitCodesIntro + "\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "\n%s\n", c.commands)
		for i, means := range []string{c.zero, c.one, c.two} {
			if means != "" {
				fmt.Fprintf(&b, "  %d  %s\n", i, means)
			}
		}
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes of the commands mean",
		Long: strings.TrimSuffix(b.String(), "\n")}
}

// helpCommand is cobra's help command, but an unknown topic is a usage error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Help about a command or a topic",
		Long:  "Print the help of a command, or about a topic such as exit-codes.",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return exitError{exitUsage,
					fmt.Errorf("there is no help about %q; 'canopy help' lists all commands and topics", strings.Join(args, " "))}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// rejectUnknownSubcommands makes commands that only group others reject an unknown subcommand, at
// every level: cobra would print their help and succeed.
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
		unknown := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			unknown += "\n\nDid you mean this?\n\t" + strings.Join(near, "\n\t") + "\n"
		}
		return exitError{exitUsage, fmt.Errorf("%s\nRun '%s --help' for the commands", unknown, cmd.CommandPath())}
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// writeExitCodes writes docs/EXIT_CODES.md.
func writeExitCodes(out io.Writer) error {
	l := &lineWriter{out: out}
	l.add("# Exit codes\n\n" + exitCodesIntro + "\n\n`canopy help exit-codes` prints the same.\n\n| Command | 0 | 1 | 2 " +
		"|\n|---|---|---|---|")
	for _, c := range exitCodes {
		l.add(fmt.Sprintf("| `%s` | %s | %s | %s |", strings.ReplaceAll(c.commands, ", ", "`, `"), c.zero, c.one, c.two))
	}
	return l.err
}
