package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

// Escape sequences of terminals for the colours of a plan.
const (
	green       = "\x1b[32m"
	red         = "\x1b[31m"
	yellow      = "\x1b[33m"
	resetColour = "\x1b[0m"
)

// planText writes a plan as text.
type planText struct {
	lineWriter
	colours bool
}

// printPlan writes a plan: the changes, then the impact on applications, then the summary.
func printPlan(out io.Writer, p *plan.Plan, colours bool) error {
	t := &planText{lineWriter{out: out}, colours}
	for i := range p.Change.Partitions {
		t.partition(&p.Change.Partitions[i])
	}
	for _, c := range p.Change.Classes {
		t.add(t.marked(c.Kind, "priority class "+c.Class))
		t.values(c.Kind, c.Values, "    ")
	}
	for _, b := range p.Change.Budgets {
		t.add(t.marked(b.Kind, "disruption budget "+b.Budget))
		t.values(b.Kind, b.Values, "    ")
	}
	for _, r := range p.RefusedChanges {
		t.add(t.in(red, "! refused: "+r.String()))
	}
	for _, o := range p.OverMax {
		t.add(t.in(red, "! "+o.String()))
	}
	for _, l := range p.Leaves {
		t.add(t.in(yellow, "! "+l.String()))
	}
	if slices.ContainsFunc(p.Leaves, func(l plan.LeafTemplate) bool { return l.Kept }) {
		t.add("  the property childtemplate.existing: update of the queue above would bring the template to such leaves")
	}
	for _, o := range p.OverLimit {
		t.add(t.in(red, "! "+o.String()))
	}
	for _, o := range p.OverQuota {
		t.add(t.in(red, "! "+o.String()))
	}
	for _, l := range p.LostAccess {
		t.add(t.in(red, "! "+l.String()))
	}
	if !p.StateKnown && p.Impact {
		t.add("without --address the impact on applications is not known")
	}
	t.add(p.Summary)
	return t.err
}

func (t *planText) partition(c *diff.PartitionChange) {
	if c.Kind == diff.Changed {
		t.add("partition " + c.Partition)
	} else {
		t.add(t.marked(c.Kind, "partition "+c.Partition+drainNote(c.Kind)))
	}
	t.values(c.Kind, c.Settings, "    ")
	for i := range c.Queues {
		q := &c.Queues[i]
		t.add("  " + t.marked(q.Kind, q.Queue+drainNote(q.Kind)))
		t.values(q.Kind, q.Values, "      ")
	}
	for i := range c.Limits {
		l := &c.Limits[i]
		holder := "user " + l.User
		if l.Group != "" {
			holder = "group " + l.Group
		}
		t.add("  " + t.marked(l.Kind, "limit of "+holder+" in "+l.Queue))
		t.values(l.Kind, l.Values, "      ")
	}
}

// values writes changed values as before and after; of a new object, the values that are not inherited.
func (t *planText) values(kind diff.Kind, all []diff.ValueChange, indent string) {
	for _, v := range all {
		if kind == diff.Created {
			if !v.Inherited {
				t.add(indent + v.Name + ": " + v.After)
			}
			continue
		}
		if v.Before == v.After {
			t.add(indent + v.Name + ": " + v.After + " (unchanged)")
			continue
		}
		line := fmt.Sprintf("%s%s: %s -> %s", indent, v.Name, shown(v.Before), shown(v.After))
		if v.Inherited {
			line += " (inherited)"
		}
		t.add(line)
	}
}

func shown(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// marked is a line with the sign of the change in front: + created, - removed, ~ changed.
func (t *planText) marked(kind diff.Kind, text string) string {
	switch kind {
	case diff.Created:
		return t.in(green, "+ "+text)
	case diff.Removed:
		return t.in(red, "- "+text)
	}
	return t.in(yellow, "~ "+text)
}

// drainNote is the note on a queue or a partition that the new configuration does not have.
func drainNote(kind diff.Kind) string {
	if kind == diff.Removed {
		return " (drains, and is removed when it is empty)"
	}
	return ""
}

func (t *planText) in(colour, text string) string {
	if !t.colours {
		return text
	}
	return colour + text + resetColour
}
