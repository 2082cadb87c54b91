package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// printExplanation prints the ask, the message of the server, and a table of figures.
func printExplanation(out io.Writer, e *dao.Explanation) error {
	t := newPreemptText(out)
	if e.ApplicationID == "" {
		t.line("%s: %s", e.AllocationKey, e.Message)
		return t.Flush()
	}
	t.line("%s of application %s, user %s, queue %s, priority %d: %s", e.AllocationKey, e.ApplicationID, e.User,
		e.QueueName, e.Priority, amountsText(e.Resource))
	if e.State == "pending" {
		t.line("pending since %s, %s", timeText(e.Since), ageText(time.Duration(e.Time-e.Since)))
	}
	t.line("%s", e.Message)
	if e.ExpectedStart != nil {
		t.line("%s", e.ExpectedStart.Message)
	}
	if e.Verdict != nil {
		for _, b := range e.Verdict.BackOff {
			t.line("%s", b.Message)
		}
	}
	if len(e.Resources) > 0 {
		printHeadrooms(t, e)
	}
	printGates(t, e)
	printRank(t, e)
	printEntitlements(t, e)
	printExpectedStart(t, e.ExpectedStart)
	return t.Flush()
}

// printHeadrooms prints a line for each resource.
func printHeadrooms(t preemptText, e *dao.Explanation) {
	t.line("\nRESOURCE\tREQUESTED\tQUEUE HEADROOM\tLIMIT HEADROOM\tCLUSTER HEADROOM\tMOST FREE ON A NODE\tLARGEST NODE")
	for i := range e.Resources {
		r := &e.Resources[i]
		text := func(n resources.Quantity) string { return resources.FormatQuantity(r.Resource, n) }
		t.line("%s\t%s\t%s\t%s\t%s\t%s\t%s", r.Resource, text(r.Requested), headroomText(r.Resource, r.Queue, true),
			headroomText(r.Resource, r.Limit, true), headroomText(r.Resource, r.Cluster, false), text(r.MaxFreeOnNode),
			text(r.LargestNode))
	}
}

// ageText is a duration in seconds, or from two days on in days and hours: a creation time may be years ago.
func ageText(age time.Duration) string {
	const day = 24 * time.Hour
	if age < 2*day {
		return age.Round(time.Second).String()
	}
	return fmt.Sprintf("%dd%dh", age/day, age%day/time.Hour)
}

func headroomText(resource string, headroom scheduler.Headroom, named bool) string {
	if headroom.IsZero() {
		return "no bound"
	}
	text := resources.FormatQuantity(resource, headroom.Free) + " of " + resources.FormatQuantity(resource, headroom.Max)
	if named {
		text += " (" + headroom.BoundBy + ")"
	}
	return text
}

// printGates prints the closed gates, each with the changes that open it.
func printGates(t preemptText, e *dao.Explanation) {
	closed := 0
	for i := range e.Gates {
		if e.Gates[i].Closed {
			closed++
		}
	}
	switch {
	case len(e.Gates) == 0:
		return
	case closed == 0:
		t.line("\nevery gate is open: %d", len(e.Gates))
		return
	case closed == 1:
		t.line("\n1 of %d gates is closed:", len(e.Gates))
	default:
		t.line("\n%d of %d gates are closed; each needs one of its changes:", closed, len(e.Gates))
	}
	for _, g := range e.Gates {
		if !g.Closed {
			continue
		}
		t.line("  %s", g.Message)
		for _, c := range g.Changes {
			also := ""
			if len(c.AlsoOpens) > 0 {
				also = " (opens " + strings.Join(c.AlsoOpens, ", ") + ", too)"
			}
			t.line("    - %s%s", c.Message, also)
		}
		if len(g.Changes) == 0 {
			t.line("    - no change helps: it has to be waited for")
		}
	}
	if e.Largest != nil {
		t.line("  or %s", e.Largest.Message)
	}
}

// printRank prints the levels of the selection order at which something comes before the ask.
func printRank(t preemptText, e *dao.Explanation) {
	var lines []string
	for _, r := range e.Rank {
		if r.Of < 2 {
			continue
		}
		line := fmt.Sprintf("  %s\t%d of %d %s of %s", r.Member.Name, r.Position, r.Of, r.Kind, r.In)
		for i, a := range r.Ahead {
			if i == 0 {
				line += "\tbehind "
			} else {
				line += ", "
			}
			line += aheadText(&r, &a)
		}
		if more := r.Position - 1 - len(r.Ahead); more > 0 && len(r.Ahead) > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		t.line("\nselection order:\n%s", strings.Join(lines, "\n"))
	}
}

// aheadText is a member ahead with what puts it there.
func aheadText(r *dao.Rank, a *dao.Ahead) string {
	switch a.By {
	case "priority":
		return fmt.Sprintf("%s (priority %d, above %d)", a.Name, a.Priority, r.Member.Priority)
	case "share":
		return fmt.Sprintf("%s (share %.3g, below %.3g)", a.Name, a.Share, r.Member.Share)
	case "submission", "creation":
		return fmt.Sprintf("%s (%s older)", a.Name, ageText(time.Duration(r.Member.Submitted-a.Submitted)))
	}
	return fmt.Sprintf("%s (by %s)", a.Name, a.By)
}

// printEntitlements prints for which reasons the ask may preempt.
func printEntitlements(t preemptText, e *dao.Explanation) {
	for i, entitlement := range e.Entitlements {
		if i == 0 {
			t.line("\npreemption:")
		}
		text := "it may preempt"
		if !entitlement.Entitled {
			text = "no: " + entitlement.Reason
		}
		if entitlement.QueueName != "" {
			text += ", " + entitlement.QueueName + entitlement.OverText()
		}
		if entitlement.EntitledAt != 0 {
			text += ", entitled at " + timeText(entitlement.EntitledAt)
		}
		t.line("  %s\t%s", entitlement.PreemptionReason, text)
	}
	if e.SearchedAt > e.Time {
		t.line("  when it is entitled, at %s, as things are:", timeText(e.SearchedAt))
	}
	for i := range e.Searches {
		t.search(&e.Searches[i], "  ")
	}
}

// printApplicationExplanation prints an application, and the explanation of the first ask of each group.
func printApplicationExplanation(out io.Writer, e *dao.ApplicationExplanation) error {
	if _, err := fmt.Fprintf(out, "application %s, %s, user %s, queue %s: %s\n", e.ApplicationID, e.State, e.User,
		e.QueueName, cmdline.Plural(e.PendingAsks, "pending ask")); err != nil {
		return err
	}
	for _, group := range e.Groups {
		if _, err := fmt.Fprintf(out, "\n%s like this one:\n", cmdline.Plural(group.PendingAsks, "ask")); err != nil {
			return err
		}
		if err := printExplanation(out, group.First); err != nil {
			return err
		}
	}
	if e.MoreGroups > 0 {
		_, err := fmt.Fprintf(out, "\n%s more\n", cmdline.Plural(e.MoreGroups, "group"))
		return err
	}
	return nil
}
