// Command canopy-lab is the laboratory of canopy: it measures and simulates the scheduler, checks other implementations
// of its interface, and plays its recordings.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

const rootHelp = `canopy-lab measures and simulates the scheduler canopy: it runs benchmarks and traces,
checks a scheduler against the cases of the interface, replays recordings, and answers what
other queues or nodes would have done. Operators do not need it to run canopy.

The exit code is 0 for success, 1 for a negative verdict or a failure, and 2 when the
arguments are invalid. 'canopy-lab help exit-codes' lists the exit codes of each command.`

// version is set by the linker: -ldflags "-X main.version=...".
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run runs a command line and returns the exit code. Errors are printed to errs.
func run(args []string, in io.Reader, out, errs io.Writer) (code int) {
	_, exit := cmdline.Execute(rootCommand(), args, in, out, errs)
	if exit.Err != nil {
		fmt.Fprintln(errs, "canopy-lab:", exit.Err)
	}
	return exit.Code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{Use: "canopy-lab", Short: "Measure, simulate and replay the scheduler canopy", Long: rootHelp}
	build := cmdline.ThisBuild("canopy-lab", version)
	root.Version = build.String()
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(benchCommand(), replayCommand(), traceSynthCommand(), recordingCommand(), whatIfCommand(),
		tuneCommand(), conformanceCommand(), cmdline.VersionCommand(build), exitCodes.Command())
	return root
}
