// Command canopy is a hierarchical queue scheduler for clusters, with the scheduler interface of
// Apache YuniKorn.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

const rootHelp = `Canopy is a hierarchical queue scheduler: it selects the next queue, application and
ask, and a node for the ask. A resource manager reports nodes, applications and asks over
the scheduler interface of Apache YuniKorn.

The exit code is 0 for success, 1 for a negative verdict or a failure, and 2 when the
arguments are invalid; of 'canopy plan', 2 means that something would change. 'canopy help
exit-codes' lists the exit codes of each command.`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run runs a command line and returns the exit code. Errors are printed to errs.
func run(args []string, in io.Reader, out, errs io.Writer) (code int) {
	root, started := rootCommand(), false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		started = true
		return checkEmptyFlags(cmd)
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.InitDefaultCompletionCmd() // the command keeps the output that is set now
	rejectUnknownSubcommands(root)
	command, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	// Standard error of serve may not be read: its last message must not keep the process from ending.
	bounded := command.Name() == serveName
	// An error before a command has started is cobra's, about the command line. A later one, such as
	// a full disk, is not a usage error.
	var exit exitError
	switch {
	case errors.As(err, &exit):
	case started:
		exit = exitError{exitRefused, err}
	default:
		exit = exitError{exitUsage, fmt.Errorf("%w\nRun 'canopy --help' for the commands", err)}
	}
	if exit.err = plainAccessError(exit.err); exit.err == nil {
		return exit.code
	}
	if bounded {
		printWithin(reportLimit, errs, "canopy:", exit.err)
	} else {
		fmt.Fprintln(errs, "canopy:", exit.err)
	}
	return exit.code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "canopy",
		Short:         "A hierarchical queue scheduler for clusters",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.Version = thisBuild().String()
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, plainFlagError(err)} })
	root.AddCommand(serveCommand(), validateCommand(), schemaCommand(), placeCommand(), testCommand(), planCommand(),
		explainCommand(), preemptCommand(), demoCommand(),
		replayCommand(), recordingCommand(), whatIfCommand(), tuneCommand(), traceSynthCommand(), conformanceCommand(),
		benchCommand(), eventsCommand(), usageCommand(), queuesCommand(), appsCommand(), nodesCommand(), topCommand(),
		tokenCommand(), versionCommand(), exitCodesCommand())
	root.AddCommand(operatorCommands()...)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	return root
}
