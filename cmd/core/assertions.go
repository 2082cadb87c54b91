package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/offline"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

const testHelp = `Check what a queues.yaml does against files of assertions, without a server.

An assertion asks one question and says what must come out: which queue a submission
gets or why it is rejected, the effective max and guaranteed of a queue, perhaps in a
cluster of a stated size, what limits leave to a user, or in what order queues with
work go and which priorities they show. docs/ASSERTIONS.md has all of the format.

Every assertion is checked, and gets one line. Where something is different, the line
has the path, what was expected and what is.

The exit code is 0 when everything is as expected, 1 when not, and 2 when a file has
mistakes or cannot be read or the arguments make no sense.`

const testExamples = `  canopy test --config examples/tenants.yaml examples/tenants_test.yaml
  canopy test --config queues.yaml --output json teams_test.yaml limits_test.yaml`

func testCommand() *cobra.Command {
	var config, output string
	var bounds configs.Options
	cmd := &cobra.Command{
		Use:     "test --config FILE ASSERTIONS...",
		Short:   "Check what a queues.yaml does against files of assertions",
		Long:    testHelp,
		Example: testExamples,
		Args: func(_ *cobra.Command, files []string) error {
			var wrong []error
			if config == "" {
				wrong = append(wrong, errors.New("--config names no file"))
			}
			if len(files) == 0 {
				wrong = append(wrong, errors.New("name at least one file of assertions"))
			}
			if err := errors.Join(append(wrong, checkOutput(output), checkBounds(bounds))...); err != nil {
				return exitError{exitUsage, err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			conf, err := loadConfig("--config", config, cmd.InOrStdin(), cmd.ErrOrStderr(), bounds)
			if err != nil {
				return withExitUsage(err)
			}
			t, err := testFiles(conf, files, cmd.InOrStdin(), cmd.ErrOrStderr(), bounds)
			if err != nil {
				return exitError{exitUsage, err}
			}
			if err := t.print(cmd.OutOrStdout(), output); err != nil {
				return exitError{exitUsage, err} // 1 would say that something is different
			}
			if t.Failed > 0 {
				return exitError{exitRefused, nil}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config, "config", "", "queues.yaml `FILE` that is checked (- is standard input)")
	flags.StringVarP(&output, "output", "o", "text", "how to print: text or json")
	addBounds(flags, &bounds)
	return cmd
}

// assertionReport is how all assertions came out. Its JSON form is for other programs, so names
// stay.
type assertionReport struct {
	Files  []assertionFile `json:"files"`
	Passed int             `json:"passed"`
	Failed int             `json:"failed"`
}

type assertionFile struct {
	File    string           `json:"file"`
	Results []offline.Result `json:"results"`
}

// testFiles checks every file. One with mistakes keeps nothing from being read, but its
// assertions, and then all others, say nothing.
func testFiles(conf *configs.Config, files []string, in io.Reader, errs io.Writer, o configs.Options) (*assertionReport, error) {
	t, bad := &assertionReport{}, 0
	for _, name := range files {
		text, err := readConfig(name, in, o)
		if err == nil && len(text) > o.MaxBytes {
			err = fmt.Errorf("%s is longer than max-config-bytes (%d)", name, o.MaxBytes)
		}
		if err != nil {
			return nil, err
		}
		all, mistakes := offline.ReadAssertions(text)
		for _, m := range mistakes {
			fmt.Fprintf(errs, "%s:%s\n", name, m)
		}
		if bad += len(mistakes); bad > 0 {
			continue
		}
		results, err := offline.Check(conf, all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t.Files = append(t.Files, assertionFile{name, results})
		for _, r := range results {
			if r.OK {
				t.Passed++
			} else {
				t.Failed++
			}
		}
	}
	if bad > 0 {
		return nil, fmt.Errorf("the assertions have %s", plural(bad, "mistake"))
	}
	return t, nil
}

func (t *assertionReport) print(out io.Writer, format string) error {
	if format == "json" {
		return printJSON(out, t)
	}
	l := &lineWriter{out: out}
	for _, f := range t.Files {
		for i := range f.Results {
			l.add(resultLine(f.File, &f.Results[i]))
		}
	}
	l.add(fmt.Sprintf("%d passed, %d failed", t.Passed, t.Failed))
	return l.err
}

func resultLine(file string, r *offline.Result) string {
	verdict := "ok  "
	if !r.OK {
		verdict = "FAIL"
	}
	line := fmt.Sprintf("%s  %s:%d: %s", verdict, file, r.Line, strings.ReplaceAll(r.Name, "\n", " "))
	for i, d := range r.Differences {
		if i == 0 {
			line += ": "
		} else {
			line += "; "
		}
		line += d.String()
	}
	return line
}
