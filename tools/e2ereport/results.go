package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The states of a spec. Ginkgo's other words for a failure all count as failed.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
	notRun  = "not run"
)

// suiteResult has what a suite said about a core.
type suiteResult struct {
	Suite, Core                     string
	Passed, Failed, Skipped, NotRun int
	Seconds                         float64
	Problem                         string `json:",omitempty"`
	Specs                           []specResult
}

// specResult is a spec, or the node before or after all specs that failed.
type specResult struct {
	Name    string
	State   string
	Seconds float64
	Message string `json:",omitempty"`
}

// ginkgoSuite has the fields of Ginkgo's JSON report that are read here.
type ginkgoSuite struct {
	SpecialSuiteFailureReasons []string
	RunTime                    int64
	SpecReports                []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
		RunTime                 int64
		Failure                 struct {
			Message  string
			Location struct {
				FileName   string
				LineNumber int
			}
		}
	}
}

// readSuite reads the report of a suite. A suite that left none is a result too.
func readSuite(folder, core, suite string) (suiteResult, error) {
	out := suiteResult{Suite: suite, Core: core}
	file := filepath.Join(folder, core, suite+".json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		out.Problem = "the suite left no report"
		return out, nil
	}
	if err != nil {
		return out, err
	}
	var suites []ginkgoSuite
	if err := json.Unmarshal(data, &suites); err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range suites {
		out.add(s)
	}
	return out, nil
}

func (r *suiteResult) add(s ginkgoSuite) {
	r.Seconds += seconds(s.RunTime)
	r.Problem = strings.Join(s.SpecialSuiteFailureReasons, "; ")
	for _, spec := range s.SpecReports {
		result := specResult{
			Name:  strings.TrimSpace(strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")),
			State: spec.State, Seconds: seconds(spec.RunTime),
		}
		if m := spec.Failure.Message; m != "" {
			at := spec.Failure.Location
			result.Message = fmt.Sprintf("%s (%s:%d)", m, filepath.Base(at.FileName), at.LineNumber)
		}
		switch spec.State {
		case passed, skipped:
		case "pending":
			result.State = skipped
		default:
			result.State = failed
		}
		if spec.LeafNodeType != "It" {
			if result.State != failed {
				continue
			}
			result.Name = "[" + spec.LeafNodeType + "]"
		} else if result.State == skipped && result.Message == "" && spec.State != "pending" {
			result.State = notRun // A spec that skips itself says why.
		}
		r.count(result)
	}
}

func (r *suiteResult) count(spec specResult) {
	switch spec.State {
	case passed:
		r.Passed++
	case failed:
		r.Failed++
	case skipped:
		r.Skipped++
	case notRun:
		r.NotRun++
	}
	r.Specs = append(r.Specs, spec)
}

func seconds(nanoseconds int64) float64 {
	return float64(nanoseconds/1e8) / 10
}
