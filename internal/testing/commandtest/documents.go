package commandtest

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"gotest.tools/v3/assert"
)

// documents is where "make dist" takes man pages and completions from.
var documents = flag.String("documents", "", "`directory` in which man pages and completions are left")

// shells write the completion of a program, by the name of the shell.
var shells = map[string]func(*cobra.Command, io.Writer) error{
	"bash": func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
	"zsh":  (*cobra.Command).GenZshCompletion,
	"fish": func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
}

// DocumentsAreWritten writes a man page for the program and each of its commands, and the completions for shells. It
// fails the test for a command without a page, and for a completion that is not what the command completion prints.
//
// Man pages are made in a test, so that the program does not have the code for them. The flag -documents says where
// they are left: in its directories man and completions. Their date is SOURCE_DATE_EPOCH, or today without it.
func (p *Program) DocumentsAreWritten(t *testing.T) {
	t.Helper()
	dir := *documents
	if dir == "" {
		dir = t.TempDir()
	}
	commands := []string{p.Root.Name()}
	each(p.Root, func(c *cobra.Command, _ []string) { commands = append(commands, c.CommandPath()) })
	pages := filepath.Join(dir, "man")
	assert.NilError(t, os.MkdirAll(pages, 0o755))
	p.Root.DisableAutoGenTag = true // it has the time of now
	assert.NilError(t, doc.GenManTree(p.Root, &doc.GenManHeader{
		Source: p.Root.Name(), Manual: "Canopy",
	}, pages))
	for _, command := range commands {
		page, err := os.ReadFile(filepath.Join(pages, strings.ReplaceAll(command, " ", "-")+".1"))
		assert.NilError(t, err)
		assert.Assert(t, bytes.Contains(page, []byte(".SH SYNOPSIS")), command)
	}
	for shell, generate := range shells {
		var script bytes.Buffer
		assert.NilError(t, generate(p.Root, &script))
		code, printed, errs := p.Run("completion", shell)
		assert.Equal(t, code, 0, errs)
		assert.Equal(t, script.String(), printed, shell)
		file := filepath.Join(dir, "completions", p.Root.Name()+"."+shell)
		assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		assert.NilError(t, os.WriteFile(file, script.Bytes(), 0o644))
	}
}
