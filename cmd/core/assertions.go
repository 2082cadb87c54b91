package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/offline"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const testHelp = `Check what a queues.yaml does against files of assertions, without a server.

An assertion has one question and the expected answer: the queue in which a submission
is placed or the reason why it is rejected, the effective max and guaranteed of a queue,
also in a cluster of a stated size, the limits of a user or a group, or the order and
the current priorities of queues with pending asks, or settings of the partition such as
backfill. docs/ASSERTIONS.md describes the format.

Every assertion is checked and has one line of output. The line of a failed assertion
has the path, the expected and the actual value of each difference.

The exit code is 0 when all assertions hold, 1 when one fails, and 2 when a file has
mistakes or cannot be read or the arguments are invalid.`

const testExamples = `  canopy test --config examples/tenants.yaml examples/tenants_test.yaml
  canopy test --config queues.yaml --output json teams_test.yaml limits_test.yaml`

func testCommand() *cobra.Command {
	var config, output string
	var bounds queuesyaml.Options
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
			return cmdline.UsageError(errors.Join(append(wrong, cmdline.CheckBounds(bounds))...))
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			conf, err := cmdline.LoadConfig("--config", config, cmd.InOrStdin(), cmd.ErrOrStderr(), bounds)
			if err != nil {
				return cmdline.UsageError(err)
			}
			t, err := testFiles(conf, files, cmd.InOrStdin(), cmd.ErrOrStderr(), bounds)
			if err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			if err := t.print(cmd.OutOrStdout(), output); err != nil {
				return cmdline.Exit(cmdline.Usage, err) // exit code 1 means that an assertion failed
			}
			if t.Failed > 0 {
				return cmdline.Exit(cmdline.Refused, nil)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config, "config", "", "queues.yaml `FILE` that is checked (- is standard input)")
	cmdline.OutputFlag(flags, &output)
	cmdline.AddBounds(flags, &bounds)
	return cmd
}

// assertionReport has the results of all assertions. Its JSON form is stable: other programs read it.
type assertionReport struct {
	Files  []assertionFile `json:"files"`
	Passed int             `json:"passed"`
	Failed int             `json:"failed"`
}

type assertionFile struct {
	File    string           `json:"file"`
	Results []offline.Result `json:"results"`
}

// testFiles checks the assertions of files. All files are read, so that all mistakes are reported;
// from the first file with mistakes on no assertion is checked, and the result is an error.
func testFiles(conf *configs.Config, files []string, in io.Reader, errs io.Writer,
	o queuesyaml.Options) (*assertionReport, error) {
	t, bad := &assertionReport{}, 0
	for _, name := range files {
		text, err := cmdline.ReadConfig(name, in, o)
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
		bad += len(mistakes)
		if bad > 0 {
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
		return nil, fmt.Errorf("the assertions have %s", cmdline.Plural(bad, "mistake"))
	}
	return t, nil
}

func (t *assertionReport) print(out io.Writer, format string) error {
	if format == "json" {
		return cmdline.PrintJSON(out, t)
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
