package cmdline

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

const interfaceModule = "github.com/apache/yunikorn-scheduler-interface"

// Build describes a program. Its JSON form is stable: other programs read it.
type Build struct {
	Program   string `json:"program"`
	Version   string `json:"version"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Interface string `json:"interface"` // version of the scheduler interface
}

// VersionCommand returns the command that prints b.
func VersionCommand(b Build) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of " + b.Program + " and of the scheduler interface",
		Example: fmt.Sprintf("  %[1]s version\n  %[1]s version --output json", b.Program),
		Args:    NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "json" {
				return PrintJSON(cmd.OutOrStdout(), b)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), b)
			return err
		},
	}
	OutputFlag(cmd.Flags(), &output)
	return cmd
}

// String returns the output of the command version and of --version.
func (b Build) String() string {
	return fmt.Sprintf("%s %s\ngo %s %s\nscheduler interface %s\n", b.Program, b.Version, b.Go, b.Platform, b.Interface)
}

// ThisBuild returns the build of the running program, whose name and version are given.
func ThisBuild(program, version string) Build {
	b := Build{
		Program: program, Version: version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Interface: "unknown",
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, m := range info.Deps {
		if m.Path == interfaceModule {
			b.Interface = m.Version
		}
	}
	return b
}

// NoArguments is cobra.NoArgs with the exit code of a usage error.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Exit(Usage,
		fmt.Errorf("%s takes no argument such as %q", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), args[0]))
}
