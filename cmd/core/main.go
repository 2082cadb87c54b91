// Command canopy is a hierarchical queue scheduler for clusters, with the scheduler interface of
// Apache YuniKorn.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

const rootHelp = `Canopy is a hierarchical queue scheduler: it selects the next queue, application and
ask, and a node for the ask. A resource manager reports nodes, applications and asks over
the scheduler interface of Apache YuniKorn.

The exit code is 0 for success, 1 for a negative verdict or a failure, and 2 when the
arguments are invalid; of 'canopy plan', 2 means that something would change. 'canopy help
exit-codes' lists the exit codes of each command.`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// version is set by the linker: -ldflags "-X main.version=...".
var version = "dev"

// run runs a command line and returns the exit code. Errors are printed to errs.
func run(args []string, in io.Reader, out, errs io.Writer) (code int) {
	command, exit := cmdline.Execute(rootCommand(), args, in, out, errs)
	switch {
	case exit.Err == nil:
	case command.Name() == serveName: // nobody may read its standard error, and its end must not wait for that
		printWithin(reportLimit, errs, "canopy:", exit.Err)
	default:
		fmt.Fprintln(errs, "canopy:", exit.Err)
	}
	return exit.Code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{Use: "canopy", Short: "A hierarchical queue scheduler for clusters", Long: rootHelp}
	build := cmdline.ThisBuild("canopy", version)
	root.Version = build.String()
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(serveCommand(), validateCommand(), schemaCommand(), placeCommand(), testCommand(), planCommand(),
		explainCommand(), preemptCommand(), demoCommand(), eventsCommand(), usageCommand(), queuesCommand(), appsCommand(),
		nodesCommand(), topCommand(), tokenCommand(), cmdline.VersionCommand(build), exitCodes.Command())
	root.AddCommand(operatorCommands()...)
	root.AddCommand(movedCommands()...)
	return root
}

// movedCommands returns a command for each that canopy had before canopy-lab was a program of its own. It says where
// the command is now.
func movedCommands() (moved []*cobra.Command) {
	for _, name := range []string{"bench", "conformance", "recording", "replay", "trace-synth", "tune", "what-if"} {
		moved = append(moved, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return cmdline.Exit(cmdline.Usage, fmt.Errorf("%[1]s is a command of canopy-lab: canopy-lab %[1]s", name))
			},
		})
	}
	return moved
}
