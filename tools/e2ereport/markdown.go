package main

import (
	"fmt"
	"strings"
)

// markdown is the table of all suites, and the list of what was found.
func markdown(cores, suites []string, results []suiteResult, found []finding) string {
	var out strings.Builder
	out.WriteString("| Suite |")
	for _, core := range cores {
		fmt.Fprintf(&out, " %s: passed | failed | skipped | not run | seconds |", core)
	}
	out.WriteString("\n|---|" + strings.Repeat("---:|", 5*len(cores)) + "\n")
	totals := make([]suiteResult, len(cores))
	for _, suite := range suites {
		fmt.Fprintf(&out, "| %s |", suite)
		for i, core := range cores {
			for _, r := range results {
				if r.Suite != suite || r.Core != core {
					continue
				}
				cells(&out, r)
				totals[i].Passed += r.Passed
				totals[i].Failed += r.Failed
				totals[i].Skipped += r.Skipped
				totals[i].NotRun += r.NotRun
				totals[i].Seconds += r.Seconds
			}
		}
		out.WriteString("\n")
	}
	out.WriteString("| all |")
	for _, t := range totals {
		cells(&out, t)
	}
	out.WriteString("\n")
	list(&out, "Worse with Canopy than with the original", found, true)
	list(&out, "Other findings", found, false)
	return out.String()
}

func cells(out *strings.Builder, r suiteResult) {
	fmt.Fprintf(out, " %d | %d | %d | %d | %.0f |", r.Passed, r.Failed, r.Skipped, r.NotRun, r.Seconds)
}

func list(out *strings.Builder, title string, found []finding, worse bool) {
	first := true
	for _, f := range found {
		if f.Worse != worse {
			continue
		}
		if first {
			fmt.Fprintf(out, "\n%s:\n\n", title)
			first = false
		}
		fmt.Fprintf(out, "- %s\n", strings.Join(strings.Fields(f.Suite+": "+f.Spec+": "+f.Text), " "))
	}
}
