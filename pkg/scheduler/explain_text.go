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

// This file has the words of explanations. Whatever prints one prints these.

// String is the explanation in one sentence, with its figures.
func (e *Explanation) String() string {
	switch e.State {
	case KeyUnknown:
		return fmt.Sprintf("no ask or allocation has the key %q", e.Key)
	case KeyForeign:
		return fmt.Sprintf("it is an allocation of another scheduler, on node %s", e.Node)
	case KeyAllocated:
		return fmt.Sprintf("it runs on node %s since %s", e.Node, e.Since.UTC().Format(time.RFC3339))
	case KeyPreempting:
		return fmt.Sprintf("it was told to end at %s, and is still on node %s", e.Since.UTC().Format(time.RFC3339), e.Node)
	}
	text := e.obstacle()
	if e.Never {
		text = "it can never run as things are: " + text
	}
	return text + e.silence()
}

// silence says what follows from it for the ask that no resource manager listens; empty: one does.
func (e *Explanation) silence() string {
	switch {
	case e.Listening:
		return ""
	case e.Preempts:
		return "; no resource manager listens, so nothing is placed and nothing is preempted"
	}
	return "; no resource manager listens, so nothing is placed"
}

// obstacle is what stands in the way, with figures.
func (e *Explanation) obstacle() string {
	v, asks := e.Verdict, ", and it asks for "+e.phrases(func(s Shortage) resources.Quantity { return s.Asked })
	most := func() string { return e.phrases(func(s Shortage) resources.Quantity { return s.Most }) }
	switch v.Obstacle {
	case AboveMax:
		return fmt.Sprintf("queue %s allows %s at most%s", v.Where, most(), asks)
	case AboveLimit:
		return fmt.Sprintf("%s may have %s at most%s", v.Where, most(), asks)
	case OverMax:
		return fmt.Sprintf("queue %s has %s left%s", v.Where, e.left(), asks)
	case OverLimit:
		return fmt.Sprintf("%s has %s left%s", v.Where, e.left(), asks)
	case ClusterFull:
		return fmt.Sprintf("the cluster has %s left%s", e.left(), asks)
	case QueueFull:
		return fmt.Sprintf("queue %s runs %d of at most %d applications", v.Where, e.Running, e.MayRun)
	case HolderFull:
		return fmt.Sprintf("%s runs %d of at most %d applications", v.Where, e.Running, e.MayRun)
	case NoNodes:
		if e.Nodes.Total == 0 {
			return "there is no node"
		}
		return fmt.Sprintf("there is no schedulable node; nodes: %s", e.Nodes)
	case WaitsForVictims:
		return fmt.Sprintf("it is nominated for node %s, where victims have still to end: %d", v.Where, e.Leaving)
	case AboveNode, NoNodeFits:
		return e.nodeObstacle()
	case WaitsForTurn, WaitsToStart:
		return "it " + v.String()
	case NoSuchResource:
		return v.String() + asks
	case NodesRefuse:
		return fmt.Sprintf("the resource manager refuses every node that has room; nodes: %s", e.Nodes)
	}
	return v.String()
}

func (e *Explanation) nodeObstacle() string {
	required, never := e.RequiredNode != "", e.Verdict.Obstacle == AboveNode
	asks := ", and it asks for " + e.phrases(func(s Shortage) resources.Quantity { return s.Asked })
	most := func() string { return e.phrases(func(s Shortage) resources.Quantity { return s.Most }) }
	switch {
	case required && never:
		return fmt.Sprintf("its required node %s has %s in all%s", e.RequiredNode, most(), asks)
	case required:
		return fmt.Sprintf("its required node %s has %s left%s", e.RequiredNode, e.left(), asks)
	case len(e.Short) == 0 && never:
		return fmt.Sprintf("no schedulable node has all of %s; nodes: %s", e.asked(), e.Nodes)
	case len(e.Short) == 0:
		return fmt.Sprintf("no node has all of %s free; nodes: %s", e.asked(), e.Nodes)
	case never:
		return fmt.Sprintf("no schedulable node has more than %s%s; nodes: %s", most(), asks, e.Nodes)
	}
	free := e.phrases(func(s Shortage) resources.Quantity { return max(s.Free, 0) })
	return fmt.Sprintf("no node has more than %s free%s; nodes: %s", free, asks, e.Nodes)
}

// String lists the counts that are not zero: "3 unschedulable, 37 too full".
func (n NodeCounts) String() string {
	var parts []string
	for _, p := range []struct {
		count int
		what  string
	}{
		{n.NotRequired, "not the one required"}, {n.Unschedulable, "unschedulable"}, {n.TooSmall, "too small"},
		{n.TooFull, "too full"}, {n.WithRoom, "with room"},
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

// asked is all that the ask wants.
func (e *Explanation) asked() string {
	var parts []string
	for name, n := range e.Asked.All() {
		parts = append(parts, resources.Phrase(name, n))
	}
	return strings.Join(parts, ", ")
}

// left is what is left of the resources that there is too little of, and of how much.
func (e *Explanation) left() string {
	var parts []string
	for _, s := range e.Short {
		parts = append(parts, fmt.Sprintf("%s of %s", resources.Phrase(s.Resource, max(s.Free, 0)), resources.Text(s.Resource, s.Most)))
	}
	return strings.Join(parts, ", ")
}

func (e *Explanation) phrases(of func(Shortage) resources.Quantity) string {
	var parts []string
	for _, s := range e.Short {
		parts = append(parts, resources.Phrase(s.Resource, of(s)))
	}
	return strings.Join(parts, ", ")
}

func sortResources(list []Availability) {
	slices.SortFunc(list, func(a, b Availability) int { return cmp.Compare(a.Resource, b.Resource) })
}

func holderIn(h objects.Holder, q *objects.Queue) string {
	return fmt.Sprintf("%s in queue %s", h, q.Path())
}
