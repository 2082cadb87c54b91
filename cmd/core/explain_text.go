package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The answers about explanations are the values of the core, except that what it keeps as numbers are texts here: a
// server of a later version may have more of them.

// explanation is the answer about a key. The body of a 404 has its fields too.
type explanation struct {
	scheduler.Explanation
	Verdict struct {
		BackOff []scheduler.BackOff
	} `json:"verdict"`
	Entitlements  []entitlement      `json:"entitlements"`
	Searches      []victimSearch     `json:"searches"`
	ExpectedStart *dao.ExpectedStart `json:"expectedStart"`
}

// applicationExplanation is the answer about an application.
type applicationExplanation struct {
	scheduler.ApplicationExplanation
	Groups []struct {
		PendingAsks int
		First       *explanation
	}
	MoreGroups int
}

// printExplanation prints the ask, the message of the server, and a table of figures.
func printExplanation(out io.Writer, e *explanation) error {
	t := newPreemptText(out)
	if e.App == "" {
		t.line("%s: %s", e.Key, e.Message)
		return t.Flush()
	}
	t.line("%s of application %s, user %s, queue %s, priority %d: %s", e.Key, e.App, e.User, e.Queue,
		e.Priority, amountsText(e.Requested.Map()))
	if e.State == scheduler.KeyPending {
		t.line("pending since %s, %s", timeText(e.Since), ageText(e.At.Time().Sub(e.Since.Time())))
		if e.MaxRunTime > 0 {
			t.line("may run for %v", time.Duration(e.MaxRunTime))
		}
	}
	t.line("%s", e.Message)
	if e.ExpectedStart != nil {
		t.line("%s", e.ExpectedStart.Message)
	}
	for _, b := range e.Verdict.BackOff {
		t.line("%s", b.Message)
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

// printExplained prints an explanation of a scheduler in this process: as that of a server, by way of its JSON.
func printExplained(out io.Writer, e *scheduler.Explanation) error {
	var a explanation
	text, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return err
	}
	return printExplanation(out, &a)
}

// printHeadrooms prints a line for each resource.
func printHeadrooms(t preemptText, e *explanation) {
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
func printGates(t preemptText, e *explanation) {
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
			var also []string
			for _, kind := range c.AlsoOpens {
				also = append(also, string(kind))
			}
			text := c.Message
			if len(also) > 0 {
				text += " (opens " + strings.Join(also, ", ") + ", too)"
			}
			t.line("    - %s", text)
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
func printRank(t preemptText, e *explanation) {
	var lines []string
	for _, r := range e.Ranks {
		if r.Of < 2 {
			continue
		}
		line := fmt.Sprintf("  %s\t%d of %d %s of %s", r.Member.Name, r.Position, r.Of, r.Kind, r.In)
		for i, a := range r.First {
			if i == 0 {
				line += "\tbehind "
			} else {
				line += ", "
			}
			line += aheadText(&r.Member, &a)
		}
		if more := r.Position - 1 - len(r.First); more > 0 && len(r.First) > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		t.line("\nselection order:\n%s", strings.Join(lines, "\n"))
	}
}

// usageText says what was used over time, and is held.
func usageText(u *explain.Usage) string {
	if u == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%.2g %% over time and %.2g %% now", 100*u.Share, 100*u.Held)
	if u.Weight != 1 {
		text += fmt.Sprintf(" by weight %.3g", u.Weight)
	}
	return text
}

// aheadText is a member ahead with what puts it there.
func aheadText(m *explain.Member, a *explain.Ahead) string {
	switch a.By {
	case policies.ByPriority:
		return fmt.Sprintf("%s (priority %d, above %d)", a.Name, a.Priority, m.Priority)
	case policies.ByShare:
		return fmt.Sprintf("%s (share %.3g, below %.3g)", a.Name, a.Share, m.Share)
	case policies.ByUsage:
		return fmt.Sprintf("%s (used %s, below %s)", a.Name, usageText(a.Usage), usageText(m.Usage))
	case policies.BySubmission, policies.ByCreation:
		return fmt.Sprintf("%s (%s older)", a.Name, ageText(m.Submitted.Time().Sub(a.Submitted.Time())))
	}
	return fmt.Sprintf("%s (by %s)", a.Name, a.By)
}

// printEntitlements prints for which reasons the ask may preempt.
func printEntitlements(t preemptText, e *explanation) {
	for i, entitlement := range e.Entitlements {
		if i == 0 {
			t.line("\npreemption:")
		}
		text := "it may preempt"
		if !entitlement.Entitled {
			text = "no: " + string(entitlement.NotEntitled)
		}
		if entitlement.Queue != "" {
			text += ", " + string(entitlement.Queue) + entitlementText(entitlement)
		}
		if !entitlement.Due.IsZero() {
			text += ", entitled at " + timeText(entitlement.Due)
		}
		t.line("  %s\t%s", entitlement.Reason, text)
	}
	if e.SearchedAt > e.At {
		t.line("  when it is entitled, at %s, as things are:", timeText(e.SearchedAt))
	}
	for i := range e.Searches {
		t.search(&e.Searches[i], "  ")
	}
}

// printApplicationExplanation prints an application, and the explanation of the first ask of each group.
func printApplicationExplanation(out io.Writer, e *applicationExplanation) error {
	if _, err := fmt.Fprintf(out, "application %s, %s, user %s, queue %s: %s\n", e.App, e.State, e.User, e.Queue,
		cmdline.Plural(e.Pending, "pending ask")); err != nil {
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
