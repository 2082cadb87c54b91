package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/canopy-scheduler/canopy/internal/offline"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// preemptText writes about preemptions for people: headings, and tables below them.
type preemptText struct{ *tabwriter.Writer }

func newPreemptText(out io.Writer) preemptText {
	return preemptText{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

func (t preemptText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// outcomes are the outcomes of a dry run in words.
var outcomes = map[string]string{
	"fits": "fits", "waits": "waits until others have left", "preempts": "preempts",
	"nothing": "finds no room, and nobody to take", "may not start": "may not start",
}

func printSupposition(out io.Writer, s *webservice.Supposition) error {
	t := newPreemptText(out)
	said, known := outcomes[s.Outcome]
	if !known {
		said = s.Outcome // of a newer server
	}
	if s.NodeID != "" {
		said += " on node " + s.NodeID
	}
	a := s.Ask
	t.line("%s", said)
	t.line("ask of user %s in queue %s, priority %d: %s", a.User, a.QueueName, a.Priority, amountsText(a.Resource))
	if !s.Pending {
		t.line("it was made up, so the resource manager was not asked")
	}
	t.line("now: %s", s.Verdict)
	t.line("\nRIGHT\tHAS IT\tWHY")
	for _, r := range s.Rights {
		why := r.Why
		if r.QueueName != "" {
			why = strings.TrimPrefix(why+": "+r.QueueName, ": ")
		}
		if r.Due != 0 {
			why += ", until " + timeText(r.Due)
		}
		t.line("%s\t%s\t%s", r.Right, map[bool]string{true: "yes", false: "no"}[r.Has], why)
	}
	for i := range s.Tried {
		search := &s.Tried[i]
		t.line("\nby right of %s: %d of %d nodes compared, %d without a plan, %d refused, %d hopeless, %d not looked at", search.Right,
			search.Nodes.Compared, search.TotalNodes, search.Nodes.NoPlan, search.Nodes.Refused, search.Hopeless, search.NotLooked)
		for _, what := range slices.Sorted(maps.Keys(search.Obstacles)) {
			t.line("  %s: nodes %d", what, search.Obstacles[what])
		}
		for _, q := range search.Quotas {
			t.line("  %s: %s would have to go", q.Quota, amountsText(q.Missing))
		}
		if search.Across {
			t.line("  no node alone is enough for the quotas: others leave elsewhere")
		}
		for _, p := range search.Plans {
			var keys []string
			for _, v := range p.Victims {
				keys = append(keys, fmt.Sprintf("%s (%d)", v.AllocationKey, v.Priority))
			}
			t.line("  plan for node %s: %s%s", p.NodeID, strings.Join(keys, ", "), more(p.MoreVictims))
		}
	}
	t.victims(s.Victims, s.MoreVictims)
	t.candidates(s.CandidatesNode, s.Candidates, s.MoreCandidates)
	return t.Flush()
}

func printPreemptions(out io.Writer, all *webservice.PreemptionList) error {
	t := newPreemptText(out)
	t.line("NUMBER\tTIME\tRIGHT\tFOR\tNODE\tVICTIMS\tOUTCOME")
	for i := range all.Preemptions {
		p := &all.Preemptions[i]
		t.line("%d\t%s\t%s\t%s\t%s\t%d\t%s", p.Number, timeText(p.Time), p.Right, beneficiary(p), p.NodeID,
			len(p.Victims)+p.MoreVictims, outcomeText(p))
	}
	t.line("%d listed, %d remembered, %d made", len(all.Preemptions), all.Remembered, all.Made)
	for _, p := range all.Paused {
		t.line("queues %s and %s may not preempt each other until %s: room went round between them", p.QueueNames[0], p.QueueNames[1], timeText(p.Until))
	}
	if all.Strays > 0 {
		t.line("%d confirmations were about nobody", all.Strays)
	}
	return t.Flush()
}

// beneficiary is for whom others had to leave.
func beneficiary(p *webservice.Preemption) string {
	switch {
	case p.Ask != nil:
		return p.Ask.AllocationKey
	case p.AboveMax != nil:
		return "max of " + p.AboveMax.QueueName
	}
	return "node " + p.NodeID
}

// outcomeText is what became of it: of the ask or, where there is none, of the victims.
func outcomeText(p *webservice.Preemption) string {
	switch {
	case p.Placed != nil:
		return "placed on " + p.Placed.NodeID
	case p.Nomination != nil:
		return p.Nomination.State
	}
	gone := 0
	for _, v := range p.Victims {
		if v.Left != 0 {
			gone++
		}
	}
	return fmt.Sprintf("%d of %d gone", gone, len(p.Victims))
}

func printPreemption(out io.Writer, p *webservice.Preemption) error {
	t := newPreemptText(out)
	t.line("preemption %d at %s, by right of %s", p.Number, timeText(p.Time), p.Right)
	if len(p.TriedBefore) > 0 {
		t.line("nobody could be taken by right of %s", strings.Join(p.TriedBefore, " or "))
	}
	switch {
	case p.Ask != nil:
		t.line("for ask %s of application %s of user %s in queue %s, priority %d: %s", p.Ask.AllocationKey, p.Ask.ApplicationID,
			p.Ask.User, p.Ask.QueueName, p.Ask.Priority, amountsText(p.Ask.Resource))
		t.line("on node %s; nodes compared %d, without a plan %d, refused %d", p.NodeID, p.Nodes.Compared, p.Nodes.NoPlan, p.Nodes.Refused)
		nomination := p.Nomination.State
		if p.Nomination.To != "" {
			nomination += ": " + p.Nomination.To
		}
		if p.Nomination.Why != "" {
			nomination += ": " + p.Nomination.Why
		}
		t.line("nomination: %s", nomination)
	case p.AboveMax != nil:
		t.line("queue %s was above its max by %s", p.AboveMax.QueueName, amountsText(p.AboveMax.By))
	default:
		t.line("node %s lacked %s", p.NodeID, amountsText(p.Lacks))
	}
	if p.Placed != nil {
		t.line("placed on node %s at %s, %s later", p.Placed.NodeID, timeText(p.Placed.Time), time.Duration(p.Placed.AfterSeconds)*time.Second)
	}
	if p.Cancelled != 0 {
		t.line("cancelled at %s", timeText(p.Cancelled))
	}
	t.victims(p.Victims, p.MoreVictims)
	t.candidates(p.NodeID, p.Candidates, p.More)
	return t.Flush()
}

func (t preemptText) victims(list []webservice.PreemptionVictim, others int) {
	if len(list) == 0 {
		return
	}
	t.line("\nVICTIM\tAPPLICATION\tQUEUE\tNODE\tPRIORITY\tHELD\tFOR\tSTATE")
	for _, v := range list {
		t.line("%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s", v.AllocationKey, v.ApplicationID, v.QueueName, v.NodeID, v.Priority,
			amountsText(v.Resource), time.Duration(v.RanSeconds)*time.Second, v.State)
	}
	t.others(others)
}

func (t preemptText) candidates(node string, list []webservice.PreemptionCandidate, others int) {
	if len(list) == 0 {
		return
	}
	t.line("\nON NODE %s\tAPPLICATION\tQUEUE\tPRIORITY\tFATE", node)
	for _, y := range list {
		t.line("%s\t%s\t%s\t%d\t%s", y.AllocationKey, y.ApplicationID, y.QueueName, y.Priority, y.Why)
	}
	t.others(others)
}

func (t preemptText) others(n int) {
	if n > 0 {
		t.line("%s", strings.TrimSpace(more(n)))
	}
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func amountsText[M ~map[string]int64](m M) string {
	named := map[string]resources.Quantity{}
	for name, n := range m {
		named[name] = resources.Quantity(n)
	}
	return offline.Quantities(named)
}

func timeText(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339) }
