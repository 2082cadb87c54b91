package cmdline

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Execute runs a command line of the program root, and returns the command that it names and how it ended: Code is 0
// after a success, and Err, if there is one, is to be printed after the name of the program.
func Execute(root *cobra.Command, args []string, in io.Reader, out, errs io.Writer) (*cobra.Command, ExitError) {
	started := false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		started = true
		return CheckEmptyFlags(cmd)
	}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Exit(Usage, PlainFlagError(err)) })
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.InitDefaultCompletionCmd() // the command keeps the output that is set now
	rejectUnknownSubcommands(root)
	command, err := root.ExecuteC()
	if err == nil {
		return command, ExitError{}
	}
	// An error before a command has started is cobra's, about the command line. A later one, such as
	// a full disk, is not a usage error.
	var exit ExitError
	switch {
	case errors.As(err, &exit):
	case started:
		exit = ExitError{Refused, err}
	default:
		exit = ExitError{Usage, fmt.Errorf("%w\nRun '%s --help' for the commands", err, root.Name())}
	}
	exit.Err = plainAccessError(exit.Err)
	return command, exit
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
				return Exit(Usage,
					fmt.Errorf("there is no help about %q; '%s help' lists all commands and topics",
						strings.Join(args, " "), root.Name()))
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
		return Exit(Usage, fmt.Errorf("%s\nRun '%s --help' for the commands", unknown, cmd.CommandPath()))
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}
