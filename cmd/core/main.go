// Command canopy is a scheduler for clusters: queues, quotas, fairness. It speaks the
// scheduler interface of Apache YuniKorn.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

const rootHelp = `Canopy decides where work runs: which queue is next, which of its applications,
and on which machine. A resource manager tells it what there is and what is wanted,
over the scheduler interface of Apache YuniKorn.

The exit code is 0 for success, 1 for a refusal or a failure, and 2 when the arguments
make no sense; of 'canopy plan', 2 says that something would change. 'canopy help
exit-codes' has all of it.`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main without the process around it.
func run(args []string, in io.Reader, out, errs io.Writer) (code int) {
	root, started := rootCommand(), false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.InitDefaultCompletionCmd() // it keeps the output that there is
	rejectUnknownSubcommands(root)
	command, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	// What serve says last must not keep the process: its standard error may not be read.
	bounded := command.Name() == serveName
	// Until a command has started it is cobra that complains, about the command line. What
	// fails after that, such as writing to a full disk, is no mistake of the arguments.
	var exit exitError
	switch {
	case errors.As(err, &exit):
	case started:
		exit = exitError{exitRefused, err}
	default:
		exit = exitError{exitUsage, fmt.Errorf("%w\nRun 'canopy --help' for what there is", err)}
	}
	if exit.err == nil {
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
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, err} })
	root.AddCommand(serveCommand(), validateCommand(), schemaCommand(), placeCommand(), testCommand(), planCommand(), explainCommand(), preemptCommand(), demoCommand(),
		replayCommand(), traceSynthCommand(), benchCommand(), eventsCommand(), versionCommand(), exitCodesCommand())
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	return root
}
