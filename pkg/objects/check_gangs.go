package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkGangs checks the counts of gangs, the placeholders that end, the asks that replace them, and the timeouts.
func (c *recount) checkGangs() error {
	p := c.p
	ending, timers := 0, 0
	for _, a := range p.apps {
		if a.gang == nil {
			if slices.ContainsFunc(a.allocations, (*Allocation).IsPlaceholder) {
				return fmt.Errorf("application %s has placeholders and no gang", a.ID())
			}
			continue
		}
		n, err := c.checkGang(a)
		if err != nil {
			return err
		}
		ending += n
		if at := a.gang.Deadline(); !at.IsZero() {
			timers++
			if _, found := slices.BinarySearchFunc(p.gangs.timers, gangTimer{at, a}, gangTimer.compare); !found {
				return fmt.Errorf("the placeholder timeout of application %s is not listed", a.ID())
			}
		}
	}
	if ending != len(p.gangs.ending) || timers != len(p.gangs.timers) {
		return fmt.Errorf("%d placeholders end and %d placeholder timeouts run, %d and %d are listed", ending, timers,
			len(p.gangs.ending), len(p.gangs.timers))
	}
	return c.checkReplacements()
}

// checkGang checks the gang of an application, and returns how many of its placeholders end.
func (c *recount) checkGang(a *Application) (ending int, err error) {
	live := map[string]int{}
	for _, x := range a.allocations {
		if !x.IsPlaceholder() {
			continue
		}
		mark, ends := c.p.gangs.ending[x]
		if ends {
			ending++
		}
		switch {
		case !mark.timedOut:
			live[x.ask.TaskGroup()]++
		case x.Pending():
			return 0, fmt.Errorf("placeholder %s ends and is pending", x.Key())
		}
	}
	all, members := 0, a.pendingMembers()
	for i := range a.gang.Groups() {
		t := &a.gang.Groups()[i]
		if a.gang.Virtual() {
			live[t.Name] = t.Live() // there are no allocations
			if got := a.gang.Members(t.Name); a.gang.Waits() && got != members[t.Name] {
				return 0,
					fmt.Errorf("application %s counts %d members of task group %s, it has %d", a.ID(), got, t.Name, members[t.Name])
			}
		}
		if t.Live() != live[t.Name] {
			return 0,
				fmt.Errorf("application %s counts %d placeholders of task group %s, it has %d", a.ID(), t.Live(), t.Name,
					live[t.Name])
		}
		all += t.Live()
		delete(live, t.Name)
	}
	if len(live) > 0 || all != a.gang.Live() || ending != a.gang.Ending() {
		return 0,
			fmt.Errorf("application %s counts %d live and %d ending placeholders, it has %d and %d, and others of %v", a.ID(),
				a.gang.Live(), a.gang.Ending(), all, ending, live)
	}
	return ending, nil
}

// pendingMembers counts the pending asks of each task group, without placeholders.
func (a *Application) pendingMembers() map[string]int {
	members := map[string]int{}
	for _, x := range a.allocations {
		if x.Pending() && !x.ask.Placeholder {
			members[x.ask.TaskGroup()]++
		}
	}
	return members
}

// checkReplacements checks that replacements are linked both ways, and that each ask waits and is no larger than its
// placeholder.
func (c *recount) checkReplacements() error {
	p, links := c.p, 0
	for y, mark := range p.gangs.ending {
		x := mark.by
		if x == nil {
			continue
		}
		links++
		switch {
		case p.gangs.replacing[x] != y || mark.timedOut || mark.replaced || p.Preempting(y):
			return fmt.Errorf("ask %s and placeholder %s are not linked", x.Key(), y.Key())
		case !x.Pending() || !x.group.Held() || x.app != y.app || x.ask.TaskGroup() != y.ask.TaskGroup() ||
			p.Nomination(x) != nil:
			return fmt.Errorf("ask %s does not wait for placeholder %s", x.Key(), y.Key())
		case !y.shape.Vector().Covers(x.shape.Vector()):
			return fmt.Errorf("ask %s requests more than placeholder %s", x.Key(), y.Key())
		case p.nodes[mark.node.ID()] != mark.node || !mark.node.Accepts(x.shape) || mark.node != y.node &&
			!slices.Contains(mark.node.extra.replacing, x):
			return fmt.Errorf("ask %s cannot be placed on node %s", x.Key(), mark.node.ID())
		}
	}
	if links != len(p.gangs.replacing) {
		return fmt.Errorf("%d asks replace placeholders, %d are listed", links, len(p.gangs.replacing))
	}
	return nil
}

// heldForReplacements adds what nodes hold for asks that replace placeholders of other nodes.
func (c *recount) heldForReplacements(held map[*Node]resources.Amounts) (listed int) {
	for y, mark := range c.p.gangs.ending {
		if mark.by != nil && mark.node != y.node {
			held[mark.node] = held[mark.node].Add(mark.by.ask.Amounts)
			listed++
		}
	}
	return listed
}
