// Command tour runs the commands of Markdown files, in order, each file in a fresh copy of the repository.
//
// It uses the blocks that are fenced as console. A line that begins with "$ " is a
// command, with the lines after it if it ends with a backslash; the lines up to the next command are
// its output. All commands run in one bash, so directories, variables and background jobs carry over.
// Each must exit with 0, or with N if it contains "# exit code N". Shown output must be all output, on
// standard output and error: "..." matches anything within a line, and alone on a line any number of
// lines. A command in the background has 30 s to print its output.
//
// The copy has the files that git tracks, or would, as they are in the working tree. At the end all
// running processes are killed, and the copy is removed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	timeout := flag.Duration("timeout", 5*time.Minute, "how long a command may take")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: tour [--timeout DURATION] FILE...\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for _, name := range flag.Args() {
		if err := tour(ctx, name, *timeout, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "tour:", err)
			os.Exit(1)
		}
	}
}

// tour runs the commands of a file of the repository in the current directory.
func tour(ctx context.Context, name string, timeout time.Duration, out io.Writer) (err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	steps := extract(string(text))
	if len(steps) == 0 {
		return fmt.Errorf("%s has no command in a block fenced as console", name)
	}
	dir, err := os.MkdirTemp("", "canopy-tour-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copyTracked(".", dir); err != nil {
		return fmt.Errorf("copying the repository: %w", err)
	}
	return follow(ctx, filepath.Base(name), steps, dir, timeout, out)
}

// follow runs steps in dir.
func follow(ctx context.Context, name string, steps []step, dir string, timeout time.Duration, out io.Writer) error {
	sh, err := startShell(dir)
	if err != nil {
		return err
	}
	defer sh.kill()
	for _, s := range steps {
		start := time.Now()
		output, err := sh.run(ctx, s, timeout)
		first, _, _ := strings.Cut(s.command, "\n")
		if err != nil {
			return fmt.Errorf("%s:%d: $ %s\n%w\nit printed:\n%s", name, s.line, s.command, err, indent(output))
		}
		fmt.Fprintf(out, "%6.1f s  %s:%d: $ %s\n", time.Since(start).Seconds(), name, s.line, first)
	}
	fmt.Fprintf(out, "%d commands did what %s says\n", len(steps), name)
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
