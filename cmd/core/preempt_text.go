package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/offline"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The answers about preemptions are the values of the core, except that what it keeps as numbers are texts here: a
// server of a later version may have more of them.

// dryRunAnswer is the answer to a dry run.
type dryRunAnswer struct {
	scheduler.DryRunResult
	Entitlements []entitlement  `json:"entitlements"`
	Searches     []victimSearch `json:"searches"`
	Victims      []victim       `json:"victims"`
}

// entitlement says whether an ask may preempt by a reason.
type entitlement struct {
	preemption.Entitlement
	Reason string `json:"preemptionReason"`
}

// victimSearch is the result of a victim search for a reason.
type victimSearch struct {
	preemption.VictimSearch
	Reason string `json:"preemptionReason"`
	Plans  []struct {
		preemption.Plan
		Victims []victim `json:"victims"`
	} `json:"plans"`
}

// preemptionList is the answer about the latest preemptions.
type preemptionList struct {
	dao.PreemptionList
	Preemptions []preemptionAnswer `json:"preemptions"`
}

// preemptionAnswer is the answer about a preemption.
type preemptionAnswer struct {
	preemption.Preemption
	Reason       string   `json:"preemptionReason"`
	TriedReasons []string `json:"triedReasons"`
	Victims      []victim `json:"victims"`
	Nomination   *struct {
		preemption.Nomination
		State string `json:"state"`
	} `json:"nomination"`
}

// victim is an allocation that is, or was, preempted.
type victim struct {
	preemption.Victim
	State string `json:"state"`
}

// preemptText writes preemptions as text: headings, and tables below them.
type preemptText struct{ *tabwriter.Writer }

func newPreemptText(out io.Writer) preemptText {
	return preemptText{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

func (t preemptText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// outcomeTexts are the outcomes of a dry run in more words than their own.
var outcomeTexts = map[scheduler.DryRunOutcome]string{
	scheduler.WouldWait: "waits for victims to terminate", scheduler.WouldNotFit: "does not fit, and has no victims",
}

func printDryRun(out io.Writer, s *dryRunAnswer) error {
	t := newPreemptText(out)
	outcome := cmp.Or(outcomeTexts[s.Outcome], string(s.Outcome))
	if s.Node != "" {
		outcome += " on node " + string(s.Node)
	}
	a := s.Ask
	t.line("%s", outcome)
	t.line("ask of user %s in queue %s, priority %d: %s", a.User, a.Queue, a.Priority, amountsText(a.Amounts.Map()))
	if !s.Pending {
		t.line("it is hypothetical, so predicates were not checked")
	}
	t.line("now: %s", s.Verdict)
	t.line("\nREASON\tENTITLED\tWHY NOT")
	for _, r := range s.Entitlements {
		reason := string(r.NotEntitled)
		if r.Queue != "" {
			reason = strings.TrimPrefix(reason+": "+string(r.Queue), ": ") + entitlementText(r)
		}
		if !r.Due.IsZero() {
			reason += ", until " + timeText(r.Due)
		}
		t.line("%s\t%s\t%s", r.Reason, map[bool]string{true: "yes", false: "no"}[r.Entitled], reason)
	}
	for i := range s.Searches {
		t.line("")
		t.search(&s.Searches[i], "")
	}
	t.victims(s.Victims, s.MoreVictims)
	t.candidates(s.CandidatesNode, s.Candidates, s.MoreCandidates)
	return t.Flush()
}

// entitlementText returns the figures of the guarantee that would be exceeded, or of the fair share, behind the name of
// the queue, and what they mean for the ask.
func entitlementText(r entitlement) (text string) {
	if r.Side != "" {
		text = "; " + r.Side + " is the side of the ask"
	}
	for _, s := range r.Shares {
		amount := func(n resources.Quantity) string { return resources.FormatQuantity(s.Resource, n) }
		text += fmt.Sprintf("; %s: fair share %s, %s held", s.Resource, amount(s.Share), amount(s.Held))
	}
	if r.Side != "" && len(r.Shares) == 0 {
		text += ", and nothing is contested"
	}
	for _, o := range r.Over {
		amount := func(n resources.Quantity) string { return resources.FormatQuantity(o.Resource, n) }
		text += fmt.Sprintf("; %s: %s guaranteed, %s used, %s requested", o.Resource, amount(o.Guaranteed), amount(o.Used),
			amount(o.Requested))
		if r.Entitled {
			text += ", so no victims for it"
		}
	}
	if len(r.Lacking) > 0 {
		text += "; preemption.guarantee: lacking would entitle it by " + strings.Join(r.Lacking, ", ")
	}
	return text
}

// search prints the result of a victim search: the nodes, what they and the quotas lack, and the plans.
func (t preemptText) search(s *victimSearch, indent string) {
	t.line("%sreason %s: %d of %d nodes compared, %d without a plan, %d rejected, %d infeasible, %d not evaluated", indent,
		s.Reason, s.NodeOutcomes.Compared, s.TotalNodes, s.NodeOutcomes.NoPlan, s.NodeOutcomes.Rejected, s.Infeasible,
		s.NotEvaluated)
	for _, what := range slices.Sorted(maps.Keys(s.NoPlanReasons)) {
		t.line("%s  %s: nodes %d", indent, what, s.NoPlanReasons[what])
	}
	if !s.YoungUntil.IsZero() {
		t.line("%s  the first minimum run time ends at %s", indent, timeText(s.YoungUntil))
	}
	for _, q := range s.BlockingQuotas {
		t.line("%s  %s: shortfall %s", indent, q.Verdict, amountsText(q.Shortfall.Map()))
	}
	if s.CrossNode {
		t.line("%s  no node alone is enough for the quotas: victims on other nodes are needed", indent)
	}
	for _, p := range s.Plans {
		var keys []string
		for _, v := range p.Victims {
			keys = append(keys, fmt.Sprintf("%s (%d)", v.Key, v.Priority))
		}
		t.line("%s  plan for node %s: %s%s", indent, p.Node, strings.Join(keys, ", "), moreText(p.MoreVictims))
	}
}

func printPreemptions(out io.Writer, all *preemptionList) error {
	t := newPreemptText(out)
	t.line("NUMBER\tTIME\tREASON\tFOR\tNODE\tVICTIMS\tOUTCOME")
	for i := range all.Preemptions {
		p := &all.Preemptions[i]
		t.line("%d\t%s\t%s\t%s\t%s\t%d\t%s", p.Number, timeText(p.At), p.Reason, preemptorText(p), p.Node,
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
func preemptorText(p *preemptionAnswer) string {
	switch {
	case p.Ask != nil:
		return string(p.Ask.Key)
	case p.QuotaViolation != nil:
		return "max of " + string(p.QuotaViolation.Queue)
	}
	return "node " + string(p.Node)
}

// outcomeText is the state of the ask of a preemption or, without an ask, how many victims have ended.
func outcomeText(p *preemptionAnswer) string {
	switch {
	case p.Placed != nil:
		return "placed on " + string(p.Placed.Node)
	case p.Nomination != nil:
		return p.Nomination.State
	}
	ended := 0
	for _, v := range p.Victims {
		if !v.EndedAt.IsZero() {
			ended++
		}
	}
	return fmt.Sprintf("%d of %d ended", ended, len(p.Victims))
}

func printPreemption(out io.Writer, p *preemptionAnswer) error {
	t := newPreemptText(out)
	t.line("preemption %d at %s, reason %s", p.Number, timeText(p.At), p.Reason)
	if len(p.TriedReasons) > 0 {
		t.line("no victims were found for reason %s", strings.Join(p.TriedReasons, " or "))
	}
	switch {
	case p.Ask != nil:
		t.line("for ask %s of application %s of user %s in queue %s, priority %d: %s", p.Ask.Key, p.Ask.App,
			p.Ask.User, p.Ask.Queue, p.Ask.Priority, amountsText(p.Ask.Amounts.Map()))
		t.line("on node %s; nodes compared %d, without a plan %d, rejected %d", p.Node, p.NodeOutcomes.Compared,
			p.NodeOutcomes.NoPlan, p.NodeOutcomes.Rejected)
		nomination := p.Nomination.State
		if p.Nomination.LostTo != "" {
			nomination += ": " + string(p.Nomination.LostTo)
		}
		if p.Nomination.Verdict != "" {
			nomination += ": " + p.Nomination.Verdict
		}
		t.line("nomination: %s", nomination)
	case p.QuotaViolation != nil:
		t.line("queue %s was above its max by %s", p.QuotaViolation.Queue, amountsText(p.QuotaViolation.Excess.Map()))
	default:
		t.line("node %s lacked %s", p.Node, amountsText(p.Shortfall.Map()))
	}
	if p.Placed != nil {
		t.line("placed on node %s at %s, %s later", p.Placed.Node, timeText(p.Placed.At),
			time.Duration(p.Placed.AfterSeconds)*time.Second)
	}
	if !p.CancelledAt.IsZero() {
		t.line("cancelled at %s", timeText(p.CancelledAt))
	}
	t.victims(p.Victims, p.MoreVictims)
	t.candidates(p.Node, p.Candidates, p.MoreCandidates)
	return t.Flush()
}

func (t preemptText) victims(list []victim, remaining int) {
	if len(list) == 0 {
		return
	}
	t.line("\nVICTIM\tAPPLICATION\tQUEUE\tNODE\tPRIORITY\tHELD\tFOR\tSTATE")
	for _, v := range list {
		t.line("%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s", v.Key, v.App, v.Queue, v.Node, v.Priority,
			amountsText(v.Amounts.Map()), time.Duration(v.RuntimeSeconds)*time.Second, v.State)
	}
	t.moreLine(remaining)
}

func (t preemptText) candidates(node objects.NodeID, list []preemption.Candidate, remaining int) {
	if len(list) == 0 {
		return
	}
	t.line("\nON NODE %s\tAPPLICATION\tQUEUE\tPRIORITY\tOUTCOME", node)
	for _, y := range list {
		outcome := y.Reason
		if !y.YoungUntil.IsZero() {
			outcome += ", until " + timeText(y.YoungUntil)
		}
		t.line("%s\t%s\t%s\t%d\t%s", y.Key, y.App, y.Queue, y.Priority, outcome)
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

func amountsText[M ~map[string]N, N ~int64](m M) string {
	named := map[string]resources.Quantity{}
	for name, n := range m {
		named[name] = resources.Quantity(n)
	}
	return offline.FormatQuantities(named)
}

func timeText(t objects.Timestamp) string { return t.Time().Format(time.RFC3339) }
