package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/offline"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// preemptText writes preemptions as text: headings, and tables below them.
type preemptText struct{ *tabwriter.Writer }

func newPreemptText(out io.Writer) preemptText {
	return preemptText{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

func (t preemptText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// outcomeTexts are the outcomes of a dry run in words.
var outcomeTexts = map[string]string{
	"fits": "fits", "waits": "waits for victims to terminate", "preempts": "preempts",
	"does not fit": "does not fit, and has no victims", "may not start": "may not start",
}

func printDryRun(out io.Writer, s *dao.DryRunResult) error {
	t := newPreemptText(out)
	outcome, known := outcomeTexts[s.Outcome]
	if !known {
		outcome = s.Outcome // of a newer server
	}
	if s.NodeID != "" {
		outcome += " on node " + s.NodeID
	}
	a := s.Ask
	t.line("%s", outcome)
	t.line("ask of user %s in queue %s, priority %d: %s", a.User, a.QueueName, a.Priority, amountsText(a.Resource))
	if !s.Pending {
		t.line("it is hypothetical, so predicates were not checked")
	}
	t.line("now: %s", s.Verdict)
	t.line("\nREASON\tENTITLED\tWHY NOT")
	for _, r := range s.Entitlements {
		reason := r.Reason
		if r.QueueName != "" {
			reason = strings.TrimPrefix(reason+": "+r.QueueName, ": ") + r.OverText()
		}
		if r.EntitledAt != 0 {
			reason += ", until " + timeText(r.EntitledAt)
		}
		t.line("%s\t%s\t%s", r.PreemptionReason, map[bool]string{true: "yes", false: "no"}[r.Entitled], reason)
	}
	for i := range s.Searches {
		t.line("")
		t.search(&s.Searches[i], "")
	}
	t.victims(s.Victims, s.MoreVictims)
	t.candidates(s.CandidatesNode, s.Candidates, s.MoreCandidates)
	return t.Flush()
}

// search prints the result of a victim search: the nodes, what they and the quotas lack, and the plans.
func (t preemptText) search(s *dao.VictimSearch, indent string) {
	t.line("%sreason %s: %d of %d nodes compared, %d without a plan, %d rejected, %d infeasible, %d not evaluated", indent,
		s.PreemptionReason,
		s.Nodes.Compared, s.TotalNodes, s.Nodes.NoPlan, s.Nodes.Rejected, s.Infeasible, s.NotEvaluated)
	for _, what := range slices.Sorted(maps.Keys(s.NoPlanReasons)) {
		t.line("%s  %s: nodes %d", indent, what, s.NoPlanReasons[what])
	}
	for _, q := range s.BlockingQuotas {
		t.line("%s  %s: shortfall %s", indent, q.Quota, amountsText(q.Shortfall))
	}
	if s.CrossNode {
		t.line("%s  no node alone is enough for the quotas: victims on other nodes are needed", indent)
	}
	for _, p := range s.Plans {
		var keys []string
		for _, v := range p.Victims {
			keys = append(keys, fmt.Sprintf("%s (%d)", v.AllocationKey, v.Priority))
		}
		t.line("%s  plan for node %s: %s%s", indent, p.NodeID, strings.Join(keys, ", "), moreText(p.MoreVictims))
	}
}

func printPreemptions(out io.Writer, all *dao.PreemptionList) error {
	t := newPreemptText(out)
	t.line("NUMBER\tTIME\tREASON\tFOR\tNODE\tVICTIMS\tOUTCOME")
	for i := range all.Preemptions {
		p := &all.Preemptions[i]
		t.line("%d\t%s\t%s\t%s\t%s\t%d\t%s", p.Number, timeText(p.Time), p.PreemptionReason, preemptorText(p), p.NodeID,
			len(p.Victims)+p.MoreVictims, outcomeText(p))
	}
	t.line("%d listed, %d remembered, %d in total", len(all.Preemptions), all.Remembered, all.Total)
	for _, p := range all.CoolDowns {
		t.line("queues %s and %s may not preempt each other until %s: cool-down after a preemption cycle", p.QueueNames[0],
			p.QueueNames[1], timeText(p.Until))
	}
	if all.UnknownConfirmations > 0 {
		t.line("%d confirmations were of unknown victims", all.UnknownConfirmations)
	}
	return t.Flush()
}

// preemptorText is the cause of a preemption: the key of the ask, the max of a queue, or a node.
func preemptorText(p *dao.Preemption) string {
	switch {
	case p.Ask != nil:
		return p.Ask.AllocationKey
	case p.QuotaViolation != nil:
		return "max of " + p.QuotaViolation.QueueName
	}
	return "node " + p.NodeID
}

// outcomeText is the state of the ask of a preemption or, without an ask, how many victims have ended.
func outcomeText(p *dao.Preemption) string {
	switch {
	case p.Placed != nil:
		return "placed on " + p.Placed.NodeID
	case p.Nomination != nil:
		return p.Nomination.State
	}
	ended := 0
	for _, v := range p.Victims {
		if v.Ended != 0 {
			ended++
		}
	}
	return fmt.Sprintf("%d of %d ended", ended, len(p.Victims))
}

func printPreemption(out io.Writer, p *dao.Preemption) error {
	t := newPreemptText(out)
	t.line("preemption %d at %s, reason %s", p.Number, timeText(p.Time), p.PreemptionReason)
	if len(p.TriedReasons) > 0 {
		t.line("no victims were found for reason %s", strings.Join(p.TriedReasons, " or "))
	}
	switch {
	case p.Ask != nil:
		t.line("for ask %s of application %s of user %s in queue %s, priority %d: %s", p.Ask.AllocationKey,
			p.Ask.ApplicationID,
			p.Ask.User, p.Ask.QueueName, p.Ask.Priority, amountsText(p.Ask.Resource))
		t.line("on node %s; nodes compared %d, without a plan %d, rejected %d", p.NodeID, p.Nodes.Compared, p.Nodes.NoPlan,
			p.Nodes.Rejected)
		nomination := p.Nomination.State
		if p.Nomination.LostTo != "" {
			nomination += ": " + p.Nomination.LostTo
		}
		if p.Nomination.Reason != "" {
			nomination += ": " + p.Nomination.Reason
		}
		t.line("nomination: %s", nomination)
	case p.QuotaViolation != nil:
		t.line("queue %s was above its max by %s", p.QuotaViolation.QueueName, amountsText(p.QuotaViolation.Excess))
	default:
		t.line("node %s lacked %s", p.NodeID, amountsText(p.Shortfall))
	}
	if p.Placed != nil {
		t.line("placed on node %s at %s, %s later", p.Placed.NodeID, timeText(p.Placed.Time),
			time.Duration(p.Placed.AfterSeconds)*time.Second)
	}
	if p.Cancelled != 0 {
		t.line("cancelled at %s", timeText(p.Cancelled))
	}
	t.victims(p.Victims, p.MoreVictims)
	t.candidates(p.NodeID, p.Candidates, p.MoreCandidates)
	return t.Flush()
}

func (t preemptText) victims(list []dao.Victim, remaining int) {
	if len(list) == 0 {
		return
	}
	t.line("\nVICTIM\tAPPLICATION\tQUEUE\tNODE\tPRIORITY\tHELD\tFOR\tSTATE")
	for _, v := range list {
		t.line("%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s", v.AllocationKey, v.ApplicationID, v.QueueName, v.NodeID, v.Priority,
			amountsText(v.Resource), time.Duration(v.RuntimeSeconds)*time.Second, v.State)
	}
	t.moreLine(remaining)
}

func (t preemptText) candidates(node string, list []dao.Candidate, remaining int) {
	if len(list) == 0 {
		return
	}
	t.line("\nON NODE %s\tAPPLICATION\tQUEUE\tPRIORITY\tOUTCOME", node)
	for _, y := range list {
		t.line("%s\t%s\t%s\t%d\t%s", y.AllocationKey, y.ApplicationID, y.QueueName, y.Priority, y.Reason)
	}
	t.moreLine(remaining)
}

func (t preemptText) moreLine(n int) {
	if n > 0 {
		t.line("%s", strings.TrimSpace(moreText(n)))
	}
}

func moreText(n int) string {
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
	return offline.FormatQuantities(named)
}

func timeText(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339) }
