package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// known are the specs that the original fails too, by suite and name, with the reasons.
type known map[[2]string]string

// readKnown reads lines "SUITE | SPEC | REASON". Without a file, nothing is known.
func readKnown(file string) (known, error) {
	out := known{}
	if file == "" {
		return out, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: want SUITE | SPEC | REASON", file, n)
		}
		out[[2]string{strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1])}] = strings.TrimSpace(fields[2])
	}
	return out, lines.Err()
}

// finding is a spec that does not pass everywhere, or that is known to fail and passes.
type finding struct {
	Suite, Spec string
	Text        string
	Worse       bool // Canopy fails what the original passes
}

// compare finds the specs that fail, suite by suite, in the order in which they ran.
func compare(results []suiteResult, allowed known) (out []finding) {
	original := map[[2]string]string{} // the states of the specs
	ranOriginal := map[string]bool{}
	for _, r := range results {
		if r.Core != "canopy" {
			ranOriginal[r.Suite] = true
			for _, s := range r.Specs {
				original[[2]string{r.Suite, s.Name}] = s.State
			}
		}
	}
	for _, r := range results {
		if r.Core != "canopy" {
			out = append(out, originalFindings(r, allowed)...)
			continue
		}
		if r.Problem != "" {
			out = append(out, finding{Suite: r.Suite, Text: "Canopy: " + r.Problem, Worse: len(r.Specs) == 0})
		}
		for _, s := range r.Specs {
			key := [2]string{r.Suite, s.Name}
			reason, isKnown := allowed[key]
			state, ran := original[key]
			f := finding{Suite: r.Suite, Spec: s.Name}
			switch {
			case s.State == passed && isKnown && !ranOriginal[r.Suite]:
				f.Text = "passes with Canopy, and is known to fail with the original"
			case s.State == passed || s.State == skipped:
				continue
			case isKnown:
				f.Text = s.State + " with Canopy; known: " + reason
			case ran && state != passed:
				f.Text = s.State + " with Canopy; " + state + " with the original too"
			default:
				f.Text, f.Worse = s.State+" with Canopy: "+firstLines(s.Message), true
			}
			out = append(out, f)
		}
	}
	return out
}

// originalFindings are the specs that the original fails without being known to.
func originalFindings(r suiteResult, allowed known) (out []finding) {
	if r.Problem != "" {
		out = append(out, finding{Suite: r.Suite, Text: "original: " + r.Problem})
	}
	for _, s := range r.Specs {
		reason, isKnown := allowed[[2]string{r.Suite, s.Name}]
		switch bad := s.State == failed || s.State == notRun; {
		case bad && !isKnown:
			out = append(out,
				finding{Suite: r.Suite, Spec: s.Name, Text: s.State + " with the original: " + firstLines(s.Message)})
		case s.State == passed && isKnown:
			out = append(out,
				finding{Suite: r.Suite, Spec: s.Name, Text: "passes with the original, though known to fail: " + reason})
		}
	}
	return out
}

// firstLines are the beginning of a message, in one line.
func firstLines(message string) string {
	text := []rune(strings.Join(strings.Fields(message), " "))
	if len(text) > 300 {
		text = append(text[:300], '…')
	}
	return string(text)
}
