package whatif

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Scenario describes what differs from the recording. The zero value changes nothing.
type Scenario struct {
	Config            *configs.Config // the configuration from the begin on; reloads are left out then. nil: as recorded
	Nodes             []NodeChange
	WithoutPreemption bool
}

// NodeChange adds nodes, or takes some away.
type NodeChange struct {
	Count int    // above 0: so many are added; below: taken away
	Like  string // the ID of a node, or the value of one of its attributes, such as an instance type
}

// ParseNodeChange reads +20:gpu or -3:gpu.
func ParseNodeChange(text string) (NodeChange, error) {
	number, like, ok := strings.Cut(text, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n == 0 || like == "" || number[0] != '+' && number[0] != '-' || n > maxNodes || n < -maxNodes {
		return NodeChange{},
			fmt.Errorf("%q is no change of nodes: +20:NAME adds 20 nodes like NAME, -3:NAME takes 3 away; NAME is a node or "+
				"the value of an attribute", text)
	}
	return NodeChange{n, like}, nil
}

const maxNodes = 1_000_000

// partition returns the configuration of a partition in the scenario, and whether it is another one than the recorded
// one.
func (s *Scenario) partition(recorded configs.Partition) (p configs.Partition, changed bool, err error) {
	p = recorded
	if s.Config != nil {
		changed = true
		found := false
		for _, x := range s.Config.Partitions {
			if x.Name == recorded.Name {
				p, found = x, true
			}
		}
		if !found {
			return p, false, fmt.Errorf("the configuration has no partition %q, which was recorded", recorded.Name)
		}
		if !s.Config.HasBudgets {
			p.Budgets = recorded.Budgets
		}
	}
	if s.WithoutPreemption && (p.PreemptionEnabled || p.QuotaPreemptionEnabled || p.NodePressureEnabled) {
		p.PreemptionEnabled, p.QuotaPreemptionEnabled, p.NodePressureEnabled = false, false, false
		changed = true
	}
	return p, changed, nil
}

// nodes applies the changes of nodes to the commands about them.
type nodes struct {
	changes []NodeChange
	matched []bool
	left    []int                               // of a change that takes nodes away: how many are still to go
	gone    map[objects.NodeID]bool             // taken away
	copies  map[objects.NodeID][]objects.NodeID // of nodes that were added, until these are schedulable
	skipped int                                 // allocations that were reported on nodes that are taken away
}

func newNodes(changes []NodeChange) *nodes {
	n := &nodes{changes: changes, matched: make([]bool, len(changes)), left: make([]int, len(changes)),
		gone: map[objects.NodeID]bool{}, copies: map[objects.NodeID][]objects.NodeID{}}
	for i, c := range changes {
		n.left[i] = max(0, -c.Count)
	}
	return n
}

// translate returns the commands in place of a recorded one.
func (n *nodes) translate(cmd scheduler.Command) []scheduler.Command {
	if len(n.changes) == 0 {
		return []scheduler.Command{cmd}
	}
	switch c := cmd.(type) {
	case scheduler.AddNode:
		return n.add(c)
	case scheduler.SetCapacity:
		if n.gone[c.Node] {
			return nil
		}
		out := []scheduler.Command{c}
		for _, id := range n.copies[c.Node] {
			out = append(out, scheduler.SetCapacity{Node: id, Total: c.Total})
		}
		return out
	case scheduler.SetAttributes:
		if n.gone[c.Node] {
			return nil
		}
		out := []scheduler.Command{c}
		for _, id := range n.copies[c.Node] {
			out = append(out, scheduler.SetAttributes{Node: id, Attributes: renamed(c.Attributes, c.Node, id)})
		}
		return out
	case scheduler.SetSchedulable:
		if n.gone[c.Node] {
			return nil
		}
		out := []scheduler.Command{c}
		if c.Schedulable {
			for _, id := range n.copies[c.Node] {
				out = append(out, scheduler.SetSchedulable{Node: id, Schedulable: true})
			}
			delete(n.copies, c.Node) // what is done to the node later is not done to them
		}
		return out
	case scheduler.RemoveNode:
		if n.gone[c.Node] {
			return nil
		}
	case scheduler.ReportAllocation:
		if n.gone[c.Node] {
			n.skipped++
			return nil
		}
	case scheduler.ReportForeign:
		if n.gone[c.Foreign.Node] {
			return nil
		}
	case scheduler.Operate:
		if n.gone[c.Node] {
			return nil
		}
	}
	return []scheduler.Command{cmd}
}

// add adds a node and its copies, or leaves it out.
func (n *nodes) add(c scheduler.AddNode) []scheduler.Command {
	out := []scheduler.Command{c}
	for i, change := range n.changes {
		if !matches(c, change.Like) {
			continue
		}
		switch {
		case change.Count < 0 && n.left[i] > 0:
			n.left[i]--
			n.matched[i], n.gone[c.Node] = true, true
			return nil
		case change.Count < 0 || n.matched[i]:
			continue
		}
		n.matched[i] = true
		for k := range change.Count {
			id := objects.NodeID(fmt.Sprintf("what-if-%s-%d", change.Like, k))
			out = append(out,
				scheduler.AddNode{Node: id, Total: c.Total, Attributes: renamed(c.Attributes, c.Node, id),
					Schedulable: c.Schedulable})
			if !c.Schedulable {
				n.copies[c.Node] = append(n.copies[c.Node], id)
			}
		}
	}
	return out
}

// unmatched returns an error for changes that no node of the recording fits, or too few.
func (n *nodes) unmatched() error {
	for i, c := range n.changes {
		switch {
		case !n.matched[i]:
			return fmt.Errorf("no node that was recorded is %q, or has an attribute of that value", c.Like)
		case n.left[i] > 0:
			return fmt.Errorf("only %d nodes like %q were recorded; %d cannot be taken away", -c.Count-n.left[i], c.Like,
				-c.Count)
		}
	}
	return nil
}

func matches(c scheduler.AddNode, like string) bool {
	if string(c.Node) == like {
		return true
	}
	for _, value := range c.Attributes {
		if value == like {
			return true
		}
	}
	return false
}

// renamed returns the attributes of a copy: those that name the node name the copy.
func renamed(attributes map[string]string, from, to objects.NodeID) map[string]string {
	out := maps.Clone(attributes)
	for k, v := range out {
		if v == string(from) {
			out[k] = string(to)
		}
	}
	return out
}
