package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxReportBytes bounds the size of a report file, in bytes.
const maxReportBytes = 16 << 20

// ReadReport reads what `canopy-lab bench run --output json` wrote. What it returns has at
// least one suite, names that are unique, and figures that are known metrics, finite and
// not negative. An error is one line that says where in the text, or in which cell, it is
// not a report.
func ReadReport(r io.Reader) (*Report, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxReportBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxReportBytes {
		return nil, fmt.Errorf("not a report: longer than %d bytes", maxReportBytes)
	}
	var report Report
	if err := json.Unmarshal(text, &report, json.RejectUnknownMembers(true)); err != nil {
		return nil, readError(text, err)
	}
	return &report, report.check()
}

// readError returns a parser error in terms of the file.
func readError(text []byte, err error) error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		what := syntax.Err.Error()
		if errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
			what = "the file ends too early"
		}
		return fmt.Errorf("%s: %s%s", position(text, syntax.ByteOffset), what, pointerSuffix(syntax.JSONPointer))
	case errors.As(err, &meaning):
		what := "not a report"
		switch {
		case errors.Is(meaning.Err, json.ErrUnknownName):
			what = fmt.Sprintf("unknown field %q, so not a report of this version", meaning.JSONPointer.LastToken())
		case meaning.Err != nil:
			what = meaning.Err.Error()
		case meaning.JSONPointer != "":
			what = fmt.Sprintf("a %v does not belong here", meaning.JSONKind)
		}
		return fmt.Errorf("%s: %s%s", position(text, meaning.ByteOffset), SingleLine(what),
			pointerSuffix(meaning.JSONPointer))
	}
	return err
}

// position returns a line and a column, from 1.
func position(text []byte, offset int64) string {
	before := text[:min(offset, int64(len(text)))]
	line := bytes.Count(before, []byte("\n"))
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("line %d, column %d", line+1, column+1)
}

func pointerSuffix(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return " (at " + SingleLine(string(p)) + ")"
}

// check finds values that are invalid in a report.
func (r *Report) check() error {
	switch {
	case r.Version == "" || r.Go == "":
		return errors.New("not a report: it does not say which version of canopy or Go was measured")
	case r.Cores < 1:
		return fmt.Errorf("not a report: cores is %d", r.Cores)
	case r.Runs < 1:
		return fmt.Errorf("not a report: runs is %d", r.Runs)
	case len(r.Suites) == 0:
		return errors.New("not a report: it has no suites")
	}
	suites := map[string]bool{}
	for i, s := range r.Suites {
		switch {
		case s.Name == "":
			return fmt.Errorf("suite number %d has no name", i+1)
		case suites[s.Name]:
			return fmt.Errorf("suite %q: there are two of this name", s.Name)
		}
		suites[s.Name] = true
		if err := s.check(); err != nil {
			return fmt.Errorf("suite %q, %w", s.Name, err)
		}
	}
	return nil
}

func (s Suite) check() error {
	cells := map[string]bool{}
	for i, c := range s.Cells {
		switch {
		case c.Name == "":
			return fmt.Errorf("cell number %d: it has no name", i+1)
		case cells[c.Name]:
			return fmt.Errorf("cell %q: there are two of this name", c.Name)
		}
		cells[c.Name] = true
		if err := c.check(); err != nil {
			return fmt.Errorf("cell %q: %w", c.Name, err)
		}
	}
	return nil
}

func (c Cell) check() error {
	switch {
	case c.Size < 0:
		return fmt.Errorf("size is %g", c.Size)
	case c.Digest == "" && len(c.Samples) > 0:
		return errors.New("there are samples, and no digest of the work")
	}
	for i, sample := range c.Samples {
		if err := sample.Check(); err != nil {
			return fmt.Errorf("sample number %d: %w", i+1, err)
		}
	}
	if err := c.Merged.Check(); err != nil {
		return fmt.Errorf("merged: %w", err)
	}
	return nil
}

// Check returns an error if a figure is no Metric or is negative.
func (s Sample) Check() error {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch {
		case !IsMetric(name):
			return fmt.Errorf("unknown metric %q", name)
		case s[name] < 0:
			return fmt.Errorf("%s is %g", name, s[name])
		}
	}
	return nil
}

// IsMetric reports whether a figure of this name is in Metrics.
func IsMetric(metric string) bool {
	return slices.ContainsFunc(Metrics, func(m Metric) bool { return m.Name == metric })
}
