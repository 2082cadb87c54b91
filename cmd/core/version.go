package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the linker: -ldflags "-X main.version=...".
var version = "dev"

const interfaceModule = "github.com/apache/yunikorn-scheduler-interface"

// build describes the program. Its JSON form is stable: other programs read it.
type build struct {
	Version   string `json:"version"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	Interface string `json:"interface"` // version of the scheduler interface
}

func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of canopy and of the scheduler interface",
		Example: "  canopy version\n  canopy version --output json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			switch output {
			case "json":
				return printJSON(cmd.OutOrStdout(), b)
			case "text":
				_, err := fmt.Fprint(cmd.OutOrStdout(), b)
				return err
			}
			return exitError{exitUsage, fmt.Errorf("--output is text or json, not %q", output)}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "how to print: text or json")
	return cmd
}

// String is the output of canopy version and canopy --version.
func (b build) String() string {
	return fmt.Sprintf("canopy %s\ngo %s %s\nscheduler interface %s\n", b.Version, b.Go, b.Platform, b.Interface)
}

func thisBuild() build {
	b := build{
		Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Interface: "unknown",
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

// noArguments is cobra.NoArgs with the exit code of a usage error.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exitError{exitUsage,
		fmt.Errorf("%s takes no argument such as %q", strings.TrimPrefix(cmd.CommandPath(), "canopy "), args[0])}
}
