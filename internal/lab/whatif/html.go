package whatif

import (
	_ "embed" // for the template
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.tmpl
var pageText string

// page escapes all texts: names come from resource managers.
var page = template.Must(template.New("what-if").Parse(pageText))

// WriteHTML writes comparisons as one page that needs nothing else: for each the tables, bars of the waits, and what
// queues had over time.
func WriteHTML(out io.Writer, all []*Comparison) error {
	view := struct{ Parts []partView }{}
	for _, c := range all {
		view.Parts = append(view.Parts, c.view())
	}
	return page.Execute(out, view)
}

type partView struct {
	*Comparison
	Window, Changed string
	Queues, Users   []rowView
	Charts, Held    []chartView
	HeldText        string
}

type rowView struct {
	Name                                                    string
	Asks, Started, Waiting, Preempted, Median, P95, Starved string
	Usage                                                   string
	Bars                                                    []barView
}

// barView is the bar of a wait, in parts of the longest 95th percentile of the table.
type barView struct {
	Class  string
	Median float64 // in percent
	P95    float64
	Title  string
}

// chartView shows what a queue had over time.
type chartView struct {
	Queue, Resource   string
	Recorded, Changed string // points of a line, in a box of chartWidth by chartHeight
	Most              string // the value at the top
}

const chartWidth, chartHeight = 600.0, 120.0

func (c *Comparison) view() partView {
	out := partView{Comparison: c,
		Window: fmt.Sprintf("%s to %s (%s)", c.From.UTC().Format(time.RFC3339), c.To.UTC().Format(time.RFC3339),
			c.To.Sub(c.From).Round(time.Second)),
		Changed: strings.Join(c.Changes, ", ")}
	all := pair{c.Recorded.All, c.Changed.All}
	out.Queues, out.Users = rows(append([]pair{all}, pairs(c.Recorded.Queues, c.Changed.Queues)...)),
		rows(append([]pair{all}, pairs(c.Recorded.Users, c.Changed.Users)...))
	for _, s := range c.Series {
		out.Charts = append(out.Charts, s.view())
	}
	for _, s := range c.Held {
		out.Held = append(out.Held, s.view())
	}
	out.HeldText = usageText(c.Recorded.Held, c.Changed.Held)
	return out
}

func rows(list []pair) (out []rowView) {
	longest := 0.0
	for _, p := range list {
		longest = max(longest, p.recorded.Wait.P95, p.changed.Wait.P95)
	}
	for _, p := range list {
		a, b := p.recorded, p.changed
		count := func(a, b int) string { return both(fmt.Sprint(a), fmt.Sprint(b)) }
		r := rowView{
			Name: a.Name, Asks: count(a.Asks, b.Asks), Started: count(a.Started, b.Started),
			Waiting: count(a.Waiting, b.Waiting), Preempted: count(a.Preempted, b.Preempted),
			Median:  both(FormatSeconds(a.Wait.Median), FormatSeconds(b.Wait.Median)),
			P95:     both(FormatSeconds(a.Wait.P95), FormatSeconds(b.Wait.P95)),
			Starved: both(percent(a.Starved), percent(b.Starved)), Usage: usageText(a.Usage, b.Usage),
		}
		if longest > 0 {
			for _, x := range []struct {
				class string
				wait  Wait
			}{{"recorded", a.Wait}, {"changed", b.Wait}} {
				r.Bars = append(r.Bars, barView{
					x.class, 100 * x.wait.Median / longest, 100 * x.wait.P95 / longest,
					fmt.Sprintf("%s: median %s, 95 %% %s", x.class, FormatSeconds(x.wait.Median), FormatSeconds(x.wait.P95)),
				})
			}
		}
		out = append(out, r)
	}
	return out
}

func (s Series) view() chartView {
	most := 0.0
	for _, list := range [][]float64{s.Recorded, s.Changed} {
		for _, x := range list {
			most = max(most, x)
		}
	}
	return chartView{s.Queue, s.Resource, points(s.Recorded, most), points(s.Changed, most), percent(most)}
}

// points returns the values of a line, from left to right.
func points(list []float64, most float64) string {
	var b strings.Builder
	for i, x := range list {
		y := chartHeight
		if most > 0 {
			y -= chartHeight * x / most
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", chartWidth*float64(i)/float64(max(len(list)-1, 1)), y)
	}
	return strings.TrimSpace(b.String())
}
