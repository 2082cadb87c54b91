// Package commandtest tests what must hold for every command of a program: its flags have help, its exit codes are in
// the table, and an invalid command line is a usage error.
//
// It knows no command. The rule that must hold: a command that is added to a program is tested without being named.
package commandtest

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// Program is a program under test. Run runs a command line without input, and returns its exit code and output.
type Program struct {
	Root  *cobra.Command
	Codes cmdline.ExitCodes
	Run   func(args ...string) (code int, out, errs string)
}

// FullDisk is a writer that fails every write with "no space left".
type FullDisk struct{}

// Write returns an error.
func (FullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// each calls f with every command that can be run, and its arguments.
func each(c *cobra.Command, f func(c *cobra.Command, args []string)) {
	for _, sub := range c.Commands() {
		if sub.Name() == "completion" || sub.Hidden {
			continue // cobra's own, and commands that only the program starts
		}
		if !sub.HasSubCommands() && sub.Runnable() {
			f(sub, strings.Fields(sub.CommandPath())[1:])
		}
		each(sub, f)
	}
}

// EveryFlagHasUsage fails the test for a command or flag without help.
func (p *Program) EveryFlagHasUsage(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		assert.Assert(t, c.Short != "" || c.Hidden, c.CommandPath())
		c.Flags().VisitAll(func(f *pflag.Flag) {
			assert.Assert(t, f.Usage != "", "%s --%s", c.CommandPath(), f.Name)
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(p.Root)
}

// CodesAreDocumented fails the test unless the table has every command, and doc, the file of docs/EXIT_CODES.md, has
// the table. others are the commands that only cobra adds when the program runs.
func (p *Program) CodesAreDocumented(t *testing.T, doc string, others ...string) {
	t.Helper()
	want, got := others, []string(nil)
	each(p.Root, func(_ *cobra.Command, args []string) { want = append(want, strings.Join(args, " ")) })
	for _, row := range p.Codes.Commands {
		got = append(got, strings.Split(row[0], ", ")...)
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
	text, err := os.ReadFile(doc)
	assert.NilError(t, err)
	assert.Assert(t, bytes.Contains(text, []byte(p.Codes.Markdown())), "%s does not have:\n%s", doc, p.Codes.Markdown())
}

// InvalidCommandLinesAreRefused fails the test for a command that takes a flag or argument that it does not have, or
// whose help is not printed. usage returns the exit code of a usage error of a command; takesAny names the commands
// with any number of arguments.
func (p *Program) InvalidCommandLinesAreRefused(t *testing.T, usage func(command string) int, takesAny ...string) {
	t.Helper()
	wrong := func(want int, args ...string) {
		t.Helper()
		code, out, errs := p.Run(args...)
		assert.Equal(t, code, want, "%v: %s", args, errs)
		assert.Equal(t, out, "", "%v", args)
		assert.Assert(t, strings.HasPrefix(errs, p.Root.Name()+": "), "%v: %q", args, errs)
	}
	count := 0
	each(p.Root, func(c *cobra.Command, args []string) {
		want := usage(c.Name())
		wrong(want, append(args, "--nonsense")...)
		if !slices.Contains(takesAny, c.Name()) {
			wrong(want, append(args, "extra", "extra2", "extra3")...)
		}
		if c.Flags().Lookup("output") != nil {
			wrong(want, append(args, "--output", "xml")...)
		}
		code, out, errs := p.Run(append(args, "--help")...)
		assert.Assert(t, code == 0 && out != "" && errs == "", "%v --help: %d %s", args, code, errs)
		code, again, _ := p.Run(append([]string{"help"}, args...)...)
		assert.Assert(t, code == 0 && again == out, "help %v: %d", args, code)
		count++
	})
	assert.Assert(t, count >= len(p.Codes.Commands)/2, "%d commands", count)
	for _, args := range [][]string{{"nonsense"}, {"--nonsense"}, {"help", "nonsense"}, {"completion", "nonsense"}} {
		wrong(cmdline.Usage, args...)
	}
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"help", "exit-codes"}, {"completion", "bash"}} {
		code, out, errs := p.Run(args...)
		assert.Assert(t, code == 0 && out != "" && errs == "", "%v: %d %s", args, code, errs)
	}
}
