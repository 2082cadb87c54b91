package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
)

const benchCompareHelp = `Compare two files that canopy-lab bench run --output json has written.

Every figure of every cell that did the same work in both is listed with its medians,
their ratio, the 95 % intervals and a verdict: better, worse, no difference, or too few
runs. A difference counts when a Mann-Whitney test finds it at 5 %, corrected for the
number of figures (Holm), and it exceeds the threshold. Ten runs per report are enough
to find a clear difference among the figures of all suites. Counts that do not vary need
no test: any difference counts.

Cells whose requests were not the same are not compared. There is a warning when the
machines or the versions of Go differ, or when a run was interrupted.

The exit code is 0 when nothing is worse, 1 when something is, also when a cell had
samples and now fails without any, and 2 when nothing was compared, or a file cannot be
read or is no report.`

const benchCompareExamples = `  canopy-lab bench compare old.json new.json
  canopy-lab bench compare --threshold 10% --output json old.json new.json`

// benchCompareCommand compares two reports.
func benchCompareCommand() *cobra.Command {
	var output, threshold string
	cmd := &cobra.Command{
		Use:     "compare OLD.json NEW.json",
		Short:   "Compare two reports of the benchmark",
		Long:    benchCompareHelp,
		Example: benchCompareExamples,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) != 2 {
				return cmdline.Exit(cmdline.Usage, fmt.Errorf("name two files, the old report and the new one, not %d", len(files)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			share, err := parseThreshold(threshold)
			if err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			return benchCompare(cmd.OutOrStdout(), files[0], files[1], share, output)
		},
	}
	cmdline.OutputFlag(cmd.Flags(), &output)
	cmd.Flags().StringVar(&threshold, "threshold", "5%",
		"differences of medians up to this `SHARE` do not count, such as 5% or 0.05")
	return cmd
}

// parseThreshold reads 5% or 0.05. A bare 5 could be either and is rejected.
func parseThreshold(text string) (share float64, err error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err = strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share < 1) {
		return 0, fmt.Errorf("--threshold is a share below 1, such as 5%% or 0.05, not %q", text)
	}
	return share, nil
}

// benchCompare prints the comparison of two files. Its errors are of type exitError.
func benchCompare(out io.Writer, before, now string, threshold float64, output string) error {
	old, err := readBenchReport(before)
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	newer, err := readBenchReport(now)
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	c := report.Compare(old, newer, threshold)
	if output == "json" {
		err = cmdline.PrintJSON(out, c)
	} else {
		err = c.WriteText(out)
	}
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err) // exit code 1 means that a figure is worse
	}
	switch {
	case c.Verdicts.Worse > 0:
		return cmdline.Exit(cmdline.Refused, nil)
	case len(c.Figures) > 0:
		return nil
	case output == "json": // the text form has this message itself
		return cmdline.Exit(cmdline.Usage, errors.New(report.NothingCompared))
	}
	return cmdline.Exit(cmdline.Usage, nil)
}

func readBenchReport(name string) (*report.Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := report.ReadReport(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
