package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The texts of explanations: every output of an Explanation prints these.

// String is the explanation in one sentence with its figures (ORD-49, OBS-43).
func (e *Explanation) String() string {
	switch e.State {
	case KeyUnknown:
		return fmt.Sprintf("no ask or allocation has the key %q", e.Key)
	case KeyForeign:
		if e.App != "" {
			return fmt.Sprintf("it is an orphaned allocation, on node %s: application %s has not taken it", e.Node, e.App)
		}
		return fmt.Sprintf("it is an allocation of another scheduler, on node %s", e.Node)
	case KeyAllocated:
		return fmt.Sprintf("it runs on node %s since %s%s", e.Node, e.Since.Time().Format(time.RFC3339), e.Run.Text())
	case KeyPreempting:
		return fmt.Sprintf("it was preempted at %s, and is still on node %s", e.Since.Time().Format(time.RFC3339), e.Node)
	}
	text := e.reasonText()
	if e.Verdict.Permanent {
		text = "it can never run as things are: " + text
	}
	return text + e.Reserved.Text() + e.Backfill.Text() + e.notListeningText() + e.pausesText() + e.movedText()
}

// movedText is the clause for an ask of an application that was moved; empty: it was not (OPS-9).
func (e *Explanation) movedText() string {
	if e.Moved == nil {
		return ""
	}
	by := e.Moved.By
	if by == "" {
		by = "an operator"
	}
	return fmt.Sprintf("; %s moved application %s from queue %s to %s at %s", by, e.App, e.Moved.From, e.Queue,
		e.Moved.At.UTC().Format(time.RFC3339))
}

// notListeningText is the clause for an ask while no resource manager listens; empty: one does (ORD-62).
func (e *Explanation) notListeningText() string {
	switch {
	case e.Verdict.Listening:
		return ""
	case e.Verdict.MayPreempt:
		return "; no resource manager listens, so nothing is placed and nothing is preempted"
	}
	return "; no resource manager listens, so nothing is placed"
}

// reasonText is the verdict with figures (QUO-10, ORD-58).
func (e *Explanation) reasonText() string {
	v := &e.Verdict
	requestText := ", and it asks for " + e.phrases(func(s Shortage) resources.Quantity { return s.Requested })
	maxText := func() string { return e.phrases(func(s Shortage) resources.Quantity { return s.Max }) }
	switch v.Reason {
	case AskExceedsMax:
		return fmt.Sprintf("queue %s allows %s at most%s", v.Subject, maxText(), requestText)
	case AskExceedsLimit:
		return fmt.Sprintf("%s may have %s at most%s", v.Subject, maxText(), requestText)
	case NoQueueHeadroom:
		return fmt.Sprintf("queue %s has %s left%s", v.Subject, e.freeText(), requestText)
	case NoLimitHeadroom:
		return fmt.Sprintf("%s has %s left%s", v.Subject, e.freeText(), requestText)
	case NoClusterHeadroom:
		return fmt.Sprintf("the cluster has %s left%s", e.freeText(), requestText)
	case QueueMaxApplications:
		return fmt.Sprintf("queue %s runs %d of at most %d applications", v.Subject, v.Running, v.MaxRunning)
	case LimitMaxApplications:
		return fmt.Sprintf("%s runs %d of at most %d applications", v.Subject, v.Running, v.MaxRunning)
	case NoSchedulableNode:
		if e.Nodes.Total == 0 {
			return "there is no node"
		}
		return fmt.Sprintf("there is no schedulable node; nodes: %s", e.Nodes)
	case WaitsForVictims:
		return fmt.Sprintf("it is nominated for node %s, where victims have still to end: %d", v.Subject, v.Terminating)
	case WaitsForReservedNode:
		return fmt.Sprintf("it has reserved node %s, and waits until enough is free there: %s", v.Subject, e.nodeReasonText())
	case NoNodeAdmitted:
		return fmt.Sprintf("%s; nodes: %s", v, e.Nodes)
	case AskExceedsNodes, NoNodeFits:
		return e.nodeReasonText()
	case WaitsForTurn, WaitsToStart:
		return "it " + v.String()
	case NoSuchResource:
		return v.String() + requestText
	case NoNodeForAffinity:
		return fmt.Sprintf("%s; nodes: %s", v, e.Nodes)
	case NodesRefusedBefore:
		return fmt.Sprintf("%s; nodes: %s", v, e.Nodes)
	case NodesRejectedByRM:
		return fmt.Sprintf("the resource manager rejects every node with sufficient free resources; nodes: %s", e.Nodes)
	}
	return v.String()
}

func (e *Explanation) nodeReasonText() string {
	required, never := e.RequiredNode != "", e.Verdict.Reason == AskExceedsNodes
	requestText := ", and it asks for " + e.phrases(func(s Shortage) resources.Quantity { return s.Requested })
	maxText := func() string { return e.phrases(func(s Shortage) resources.Quantity { return s.Max }) }
	switch {
	case required && never:
		return fmt.Sprintf("its required node %s has %s in all%s", e.RequiredNode, maxText(), requestText)
	case required:
		return fmt.Sprintf("its required node %s has %s left%s", e.RequiredNode, e.freeText(), requestText)
	case len(e.Verdict.Shortages) == 0 && never:
		return fmt.Sprintf("no schedulable node has all of %s; nodes: %s", e.requestedText(), e.Nodes)
	case len(e.Verdict.Shortages) == 0:
		return fmt.Sprintf("no node has all of %s free; nodes: %s", e.requestedText(), e.nodesText())
	case never:
		return fmt.Sprintf("no schedulable node has more than %s%s; nodes: %s", maxText(), requestText, e.Nodes)
	}
	free := e.phrases(func(s Shortage) resources.Quantity { return max(s.Free, 0) })
	return fmt.Sprintf("no node has more than %s free%s; nodes: %s", free, requestText, e.nodesText())
}

// nodesText is the counts of the nodes, with the asks for which some of them are held.
func (e *Explanation) nodesText() string {
	text := e.Nodes.String()
	if len(e.HeldFor) > 0 {
		text += " (" + objects.HoldersText(e.HeldFor) + ")"
	}
	return text
}

// String lists the counts that are not zero: "3 unschedulable, 37 too full".
func (n NodeCounts) String() string {
	var parts []string
	for _, p := range []struct {
		count int
		what  string
	}{
		{n.NotRequired, "not the one required"}, {n.NotSelected, "not selected by its labels"}, {n.Tainted, "tainted"},
		{n.Unschedulable, "unschedulable"}, {n.RefusedBefore, "that refused it before"}, {n.TooSmall, "too small"},
		{n.TooFull, "too full"}, {n.Reserved, "reserved for other asks"}, {n.PortTaken, "without a free host port"},
		{n.Spread, "refused by topology spread"},
		{n.Affinity, "refused by pod affinity"}, {n.AntiAffinity, "refused by pod anti-affinity"},
		{n.OthersAntiAffinity, "refused by the anti-affinity of allocations"}, {n.Fitting, "fitting"},
	} {
		if p.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.count, p.what))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// requestedText is the whole request.
func (e *Explanation) requestedText() string {
	var parts []string
	for name, n := range e.Requested.All() {
		parts = append(parts, resources.FormatNamedQuantity(name, n))
	}
	return strings.Join(parts, ", ")
}

// freeText is, for each shortage, what is free and of how much.
func (e *Explanation) freeText() string {
	var parts []string
	for _, s := range e.Verdict.Shortages {
		parts = append(parts,
			fmt.Sprintf("%s of %s", resources.FormatNamedQuantity(s.Resource, max(s.Free, 0)),
				resources.FormatQuantity(s.Resource, s.Max)))
	}
	return strings.Join(parts, ", ")
}

func (e *Explanation) phrases(of func(Shortage) resources.Quantity) string {
	var parts []string
	for _, s := range e.Verdict.Shortages {
		parts = append(parts, resources.FormatNamedQuantity(s.Resource, of(s)))
	}
	return strings.Join(parts, ", ")
}

func sortResources(list []Availability) {
	slices.SortFunc(list, func(a, b Availability) int { return cmp.Compare(a.Resource, b.Resource) })
}
