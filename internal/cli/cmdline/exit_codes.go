package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ExitCodes says what the exit codes of a program mean. Commands has a row for each class of commands: their names,
// separated by ", ", and what 0, 1 and 2 mean; empty: the code does not occur.
type ExitCodes struct {
	Program, Intro string
	Commands       [][4]string
}

// Command returns the help topic exit-codes.
func (e ExitCodes) Command() *cobra.Command {
	var b strings.Builder
	b.WriteString(e.Intro + "\n")
	for _, row := range e.Commands {
		fmt.Fprintf(&b, "\n%s\n", row[0])
		for code, means := range row[1:] {
			if means != "" {
				fmt.Fprintf(&b, "  %d  %s\n", code, means)
			}
		}
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes of the commands mean",
		Long: strings.TrimSuffix(b.String(), "\n")}
}

// Markdown returns the part of docs/EXIT_CODES.md about the program.
func (e ExitCodes) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %[1]s\n\n%[2]s\n\n`%[1]s help exit-codes` prints the same.\n\n| Command | 0 | 1 | 2 |\n"+
		"|---|---|---|---|\n", e.Program, e.Intro)
	for _, row := range e.Commands {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.ReplaceAll(row[0], ", ", "`, `"), row[1], row[2], row[3])
	}
	return b.String()
}
