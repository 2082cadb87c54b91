package report

import (
	_ "embed" // for the template
	"fmt"
	"html/template"
	"io"
)

//go:embed html_report.tmpl
var htmlText string

// htmlPage escapes the texts of a report: names may come from an untrusted file.
var htmlPage = template.Must(template.New("report").Parse(htmlText))

// WriteHTML writes a report as one self-contained page: for each suite a plot of the CPU per decision
// over the axis, bars of the latencies, all figures, and the commands to measure it again. Figures are
// medians with 95 % intervals. Errors are those of w.
func WriteHTML(w io.Writer, r *Report) error {
	page := htmlReport{Machine: r.machine(), RunInfo: r.runInfo(), Report: r}
	for i, s := range r.Suites {
		page.Suites = append(page.Suites, s.section(i))
	}
	return htmlPage.Execute(w, page)
}

type htmlReport struct {
	*Report
	Machine, RunInfo string
	Suites           []htmlSuite
}

type htmlSuite struct {
	ID, Name, About string
	Plot            *plot // nil: there is no axis, or no value
	Latencies       []bars
	Metrics         []Metric
	Rows            []htmlRow
	Failures        []string
}

type htmlRow struct {
	Cell, Digest, Spec string
	Runs               int
	Figures            []string // one for each of the suite's Metrics
}

func (s Suite) section(i int) htmlSuite {
	out := htmlSuite{
		ID: fmt.Sprintf("suite%d", i+1), Name: s.Name, About: s.About,
		Plot: s.plot(), Latencies: s.latencies(), Metrics: s.present(),
	}
	for _, c := range s.Cells {
		row := htmlRow{Cell: c.Name, Digest: c.Digest, Spec: c.Spec.Text(), Runs: len(c.Samples)}
		for _, m := range out.Metrics {
			row.Figures = append(row.Figures, c.withEnds(m))
		}
		out.Rows = append(out.Rows, row)
		if c.Failure != "" {
			out.Failures = append(out.Failures, c.Name+": "+c.Failure)
		}
	}
	return out
}
