package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// printList prints a list as a table, with at most limit rows; 0: all. heads are the heads of the columns, separated by
// tabs; row returns the cells of an element.
func printList[T any](out io.Writer, heads string, list []T, limit int, row func(x *T) []string) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, heads)
	for i := range list {
		if limit > 0 && i == limit {
			fmt.Fprintf(t, "and %d more; see --limit\n", len(list)-limit)
			break
		}
		cells := row(&list[i])
		for i, c := range cells {
			cells[i] = cmdline.PrintableLine(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// checkKnown refuses a name that is not empty and not known.
func checkKnown[T any](kind, name string, all []T, nameOf func(x *T) string) error {
	names := make([]string, len(all))
	for i := range all {
		names[i] = nameOf(&all[i])
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("there is no %s %q: %s", kind, name, oneOf(name, names))
}

// oneOf returns a hint for an unknown name: a similar one, or all if they are few.
func oneOf(name string, known []string) string {
	hint := validation.DidYouMean(name, known)
	switch {
	case hint != "":
		return hint
	case len(known) > 10:
		return fmt.Sprintf("there are %d", len(known))
	}
	return "it is one of " + strings.Join(known, ", ")
}

// boundText returns an amount of a resource as queues.yaml has it; a bound that is missing is a dash.
func boundText(amounts dao.Quantities, resource string) string {
	n, ok := amounts[resource]
	if !ok {
		return "-"
	}
	return resources.FormatQuantity(resource, resources.Quantity(n))
}

// amount is boundText for what has no bound: missing is zero.
func amount(amounts dao.Quantities, resource string) string {
	return resources.FormatQuantity(resource, resources.Quantity(amounts[resource]))
}

// mainResource returns the resource to show: the given one, else vcore, or the first that there is.
func mainResource(given string, all ...dao.Quantities) string {
	if given != "" {
		return given
	}
	var names []string
	for _, a := range all {
		for name := range a {
			names = append(names, name)
		}
	}
	if len(names) == 0 || slices.Contains(names, "vcore") {
		return "vcore"
	}
	return slices.Min(names)
}

// shortDuration returns a duration with at most two units, for columns.
func shortDuration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d <= 0:
		return "-"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// ratio returns a number of fairness; nil: nothing was owed.
func ratio(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *f)
}

// below reports whether a queue is path or below it; an empty path is all.
func below(queue, path string) bool {
	return path == "" || queue == path || strings.HasPrefix(queue, path+".")
}
