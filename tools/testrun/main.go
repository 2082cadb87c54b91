// Command testrun is go test that fails when a package with tests ran none.
//
// It takes the arguments of go test and prints the output of go test. A package in which no test ran,
// because no name matched or because all were skipped, has failed; so has a run without any test. The
// last line has the counts.
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
		_, _ = io.Copy(io.Discard, events) // let go test finish; the error is reported below
	}
	waitErr := cmd.Wait()
	return errors.Join(readErr, r.verdict(), waitErr)
}

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build output, instead of Package
}

// packageResult is the state of one package.
type packageResult struct {
	passed, failed, skipped int
	output                  map[string]string // by test, "" for the package itself
	running                 []string          // tests that have begun and have not ended
}

// report converts events to the output of go test, and counts.
type report struct {
	out      io.Writer
	verbose  bool // print the output of passing tests, too
	packages map[string]*packageResult
	empty    []string // packages whose tests did not run
	ended    []string // packages that failed although none of their tests did: the process ended
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
		fmt.Fprint(r.out, line) // plain text of go test itself
		return
	}
	if e.Package == "" {
		fmt.Fprint(r.out, e.Output) // of the compiler
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
		if !strings.HasPrefix(e.Output, "=== ") { // the start of a test
			p.output[e.Test] += e.Output
		}
	case e.Test == "":
		r.finish(e, p)
	default:
		r.count(e, p)
	}
}

// count counts the end of a test, and prints the output of a failed one.
func (r *report) count(e event, p *packageResult) {
	switch e.Action {
	case "pass":
		p.passed++
	case "skip":
		p.skipped++
	case "fail":
		p.failed++
		fmt.Fprint(r.out, p.output[e.Test])
	case "run":
		p.running = append(p.running, e.Test)
		return
	default:
		return
	}
	delete(p.output, e.Test)
	p.running = slices.DeleteFunc(p.running, func(test string) bool { return test == e.Test })
}

// finish prints the end of a package: all output when it failed, including that of tests that did not
// end, and their names, otherwise only go test's line.
func (r *report) finish(e event, p *packageResult) {
	switch e.Action {
	case "fail":
		closing := p.output[""]
		delete(p.output, "")
		for _, test := range slices.Sorted(maps.Keys(p.output)) {
			fmt.Fprint(r.out, p.output[test])
		}
		for _, test := range p.running {
			fmt.Fprintf(r.out, "%s had not ended\n", test)
		}
		fmt.Fprint(r.out, closing)
		if p.failed == 0 && p.passed+p.skipped+len(p.running) > 0 {
			r.ended = append(r.ended, e.Package)
		}
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

// verdict prints the counts; the error is that tests did not run.
func (r *report) verdict() error {
	var sum packageResult
	for _, p := range r.packages {
		sum.passed += p.passed
		sum.failed += p.failed
		sum.skipped += p.skipped
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	if len(r.ended) > 0 {
		slices.Sort(r.ended)
		return fmt.Errorf("no test failed, but the process ended with an error, in %s", strings.Join(r.ended, ", "))
	}
	if len(r.empty) > 0 {
		slices.Sort(r.empty)
		return fmt.Errorf("no test ran in %s", strings.Join(r.empty, ", "))
	}
	if sum.passed+sum.failed == 0 {
		return errors.New("no test ran at all")
	}
	return nil
}
