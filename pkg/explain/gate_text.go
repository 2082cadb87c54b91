package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// String returns the gate in words with its figures, open or closed.
func (g Gate) String() string {
	if !g.Closed {
		return g.openText()
	}
	switch g.Kind {
	case ResourceManager:
		return "no resource manager receives decisions"
	case Recovery:
		return fmt.Sprintf("nothing is placed until the resource manager, which has registered, has reported what runs: "+
			"until %s at the latest", g.Until.Time().Format(time.RFC3339))
	case PlacementRate:
		return fmt.Sprintf("the rate limit of placements allows none before %s",
			g.Until.Time().Format("2006-01-02T15:04:05.000Z"))
	case Victims:
		return fmt.Sprintf("it is nominated for node %s, where victims have still to end: %d", g.Subject, g.Running)
	case Hold:
		return fmt.Sprintf("an operator holds application %s", g.Subject)
	case StoppedQueue:
		return fmt.Sprintf("an operator has stopped queue %s", g.Subject)
	case RecoveryQueue:
		return fmt.Sprintf("application %s is in the recovery queue: an operator has to move it", g.Subject)
	case Replacement:
		return fmt.Sprintf("placeholder %s, which it replaces, has not ended", g.Subject)
	case Placeholders:
		return fmt.Sprintf("task group %s has placeholders, one of which it will replace", g.Subject)
	case Members:
		return fmt.Sprintf("task group %s has %d pending asks, and is placed together from %d on", g.Subject, g.Running,
			g.MaxRunning)
	case StartOrder:
		return fmt.Sprintf("in queue %s, which is StateAware, other applications start first", g.Subject)
	case LimitMaxApplications, QueueMaxApplications:
		return fmt.Sprintf("%s runs %d applications, and may run %d", g.subjectText(), g.Running, g.MaxRunning)
	case LimitMaxResources, QueueMaxResources, ClusterCapacity:
		return fmt.Sprintf("%s has too little left: %s", g.subjectText(), g.figuresText())
	case Nodes:
		if g.Refusing > 0 {
			return fmt.Sprintf("%s; nodes that have enough free and refused it before: %d, and one of them may get it again "+
				"at %s",
				g.nodesText(), g.Refusing, g.Until.Time().Format(time.RFC3339))
		}
		return g.nodesText()
	case OtherAllocations:
		return "pod affinity, anti-affinity, topology spread or host ports refuse every node that has enough free"
	case Gang:
		return "its gang cannot be placed together: " + g.Subject
	}
	text := "the resource manager refused every node that has enough free"
	if !g.Until.IsZero() {
		text += "; it is asked again at " + g.Until.Time().Format(time.RFC3339)
	}
	return text
}

func (g Gate) openText() string {
	switch g.Kind {
	case ResourceManager:
		return "a resource manager receives decisions"
	case Members:
		return fmt.Sprintf("task group %s has enough pending asks to be placed together: %d of %d", g.Subject, g.Running,
			g.MaxRunning)
	case StartOrder:
		return fmt.Sprintf("no other application of queue %s starts first", g.Subject)
	case LimitMaxApplications, QueueMaxApplications:
		return fmt.Sprintf("%s runs %d of at most %d applications", g.subjectText(), g.Running, g.MaxRunning)
	case LimitMaxResources, QueueMaxResources, ClusterCapacity:
		if len(g.Figures) == 0 {
			return g.subjectText() + " bounds no requested resource"
		}
		return fmt.Sprintf("%s has enough left: %s", g.subjectText(), g.figuresText())
	case Nodes:
		if g.Subject != "" {
			return fmt.Sprintf("node %s has enough free", g.Subject)
		}
		return "a node that admits it has enough free"
	case OtherAllocations:
		return "other allocations leave it a node"
	case Gang:
		return "nothing is known to keep its gang from being placed together"
	}
	return "the resource manager has not refused every node"
}

func (g Gate) subjectText() string {
	if g.Kind == QueueMaxApplications || g.Kind == QueueMaxResources {
		return "queue " + g.Subject
	}
	return g.Subject
}

func (g Gate) nodesText() string {
	switch {
	case string(g.Node) == g.Subject && g.Subject != "":
		return fmt.Sprintf("node %s has too little free: %s%s", g.Subject, g.figuresText(), g.heldForText())
	case len(g.Figures) == 0 && g.Subject != "":
		return fmt.Sprintf("node %s is missing, does not admit it, or is too small", g.Subject)
	case len(g.Figures) == 0:
		return "no schedulable node admits it and could have enough free"
	}
	return fmt.Sprintf("no node that admits it has enough free; on node %s, which lacks the least: %s%s", g.Node,
		g.figuresText(), g.heldForText())
}

// heldForText names the asks for which something is held on the node; empty: there is none.
func (g Gate) heldForText() string {
	if len(g.HeldFor) == 0 {
		return ""
	}
	return "; held there for " + objects.HoldersText(g.HeldFor)
}

// figuresText returns the figures in words: first those of which too little is left.
func (g Gate) figuresText() string {
	var missing, enough []string
	for _, f := range g.Figures {
		held := ""
		if f.Held > 0 {
			held = fmt.Sprintf(" (%s held for other asks)", resources.FormatQuantity(f.Resource, f.Held))
		}
		text := fmt.Sprintf("%s of %s%s, requested %s", resources.FormatNamedQuantity(f.Resource, f.Free),
			resources.FormatQuantity(f.Resource, f.Max), held, resources.FormatQuantity(f.Resource, f.Requested))
		if f.Missing > 0 {
			missing = append(missing, text+", missing "+resources.FormatQuantity(f.Resource, f.Missing))
		} else {
			enough = append(enough, text)
		}
	}
	return strings.Join(append(missing, enough...), "; ")
}
