// Command testrun is go test that fails when a test executed nothing.
//
// It takes the arguments of go test and prints what go test would print. A package
// that has tests of which none ran, because a pattern matched none of them or
// because all were skipped, has failed; so has a run without any test. The last line
// counts.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := report{out: os.Stdout, verbose: slices.Contains(args, "-v"), packages: map[string]*packageResult{}}
	readErr := r.read(events)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, events) // let go test finish; the error is told below
	}
	waitErr := cmd.Wait()
	return errors.Join(readErr, r.verdict(), waitErr)
}

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build output, instead of Package
}

// packageResult is what is known of one package.
type packageResult struct {
	passed, failed, skipped int
	output                  map[string]string // by test, "" for the package itself
}

// report turns events back into what go test prints, and counts.
type report struct {
	out      io.Writer
	verbose  bool // print what passing tests say as well
	packages map[string]*packageResult
	empty    []string // packages whose tests did not run
}

func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.handleLine(line)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (r *report) handleLine(line string) {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		fmt.Fprint(r.out, line) // go test itself complains in plain text
		return
	}
	if e.Package == "" {
		fmt.Fprint(r.out, e.Output) // the compiler's
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &packageResult{output: map[string]string{}}
		r.packages[e.Package] = p
	}
	switch {
	case e.Action == "output" && r.verbose:
		fmt.Fprint(r.out, e.Output)
	case e.Action == "output":
		if !strings.HasPrefix(e.Output, "=== ") { // which only says that it began to run
			p.output[e.Test] += e.Output
		}
	case e.Test == "":
		r.finish(e, p)
	default:
		r.count(e, p)
	}
}

// count notes how one test ended, and lets it speak when it failed.
func (r *report) count(e event, p *packageResult) {
	switch e.Action {
	case "pass":
		p.passed++
	case "skip":
		p.skipped++
	case "fail":
		p.failed++
		fmt.Fprint(r.out, p.output[e.Test])
	default:
		return
	}
	delete(p.output, e.Test)
}

// finish prints the closing lines of a package: all it said when it failed, which
// includes tests that never ended, otherwise only go test's own line.
func (r *report) finish(e event, p *packageResult) {
	switch e.Action {
	case "fail":
		closing := p.output[""]
		delete(p.output, "")
		for _, test := range slices.Sorted(maps.Keys(p.output)) {
			fmt.Fprint(r.out, p.output[test])
		}
		fmt.Fprint(r.out, closing)
	case "pass", "skip":
		for line := range strings.Lines(p.output[""]) {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") {
				fmt.Fprint(r.out, line)
			}
		}
		if e.Action == "pass" && p.passed == 0 {
			r.empty = append(r.empty, e.Package)
		}
	default:
		return
	}
	clear(p.output)
}

// verdict prints the count and says whether something was tested everywhere.
func (r *report) verdict() error {
	var sum packageResult
	for _, p := range r.packages {
		sum.passed += p.passed
		sum.failed += p.failed
		sum.skipped += p.skipped
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	if len(r.empty) > 0 {
		slices.Sort(r.empty)
		return fmt.Errorf("no test ran in %s", strings.Join(r.empty, ", "))
	}
	if sum.passed+sum.failed == 0 {
		return errors.New("no test ran at all")
	}
	return nil
}
