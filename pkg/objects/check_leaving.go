package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nominations checks who is said to leave, who waits for which node, and what is added up
// from that.
func (c *recount) nominations() error {
	held := map[*Node]resources.Amounts{}
	leaving, overdue, promised := map[*Queue]resources.Amounts{}, map[*Queue]resources.Amounts{}, map[*Queue]resources.Amounts{}
	awaited, told := 0, map[*Allocation]bool{}
	for _, x := range c.p.told {
		told[x] = true
	}
	for x, d := range c.p.leaving {
		if c.p.work[x.Key()] != x || x.Pending() {
			return fmt.Errorf("%s was told to leave and does not run", x.Key())
		}
		if d.overdue {
			for q := x.app.queue; q != nil; q = q.parent {
				overdue[q] = overdue[q].Add(x.ask.Amounts)
			}
			continue
		}
		awaited++
		if !told[x] {
			return fmt.Errorf("%s was told to leave, and nobody will notice if it stays", x.Key())
		}
		if !slices.Contains(x.node.leaving, x) {
			return fmt.Errorf("node %s does not know that %s was told to leave", x.node.id, x.Key())
		}
		for q := x.app.queue; q != nil; q = q.parent {
			leaving[q] = leaving[q].Add(x.ask.Amounts)
		}
	}
	if len(c.p.nominees) != len(c.p.nominated) {
		return fmt.Errorf("%d asks wait for a node, %d are listed", len(c.p.nominated), len(c.p.nominees))
	}
	for _, x := range c.p.nominees {
		n := c.p.nominated[x].node
		if n == nil || c.p.nodes[n.id] != n || !n.Accepts(x.shape) || c.p.work[x.Key()] != x || !x.Pending() {
			return fmt.Errorf("%s waits for a node that it cannot have, or does not wait", x.Key())
		}
		if !slices.Contains(n.nominees, x) {
			return fmt.Errorf("node %s does not know that %s waits for it", n.id, x.Key())
		}
		held[n] = held[n].Add(x.ask.Amounts)
		for q := x.app.queue; q != nil; q = q.parent {
			promised[q] = promised[q].Add(x.ask.Amounts)
		}
	}
	listed, waiting := 0, 0
	for _, n := range c.p.nodes {
		listed, waiting = listed+len(n.leaving), waiting+len(n.nominees)
		if got := c.p.Amounts(n.held); !got.Equal(held[n]) {
			return fmt.Errorf("node %s holds %v for others, %v wait for it", n.id, got, held[n])
		}
	}
	if listed != awaited || waiting != len(c.p.nominees) {
		return fmt.Errorf("nodes list %d that were told to leave and %d that wait, there are %d and %d",
			listed, waiting, awaited, len(c.p.nominees))
	}
	for _, q := range c.p.queues {
		if got := c.p.Amounts(q.leaving); !got.Equal(leaving[q]) {
			return fmt.Errorf("in queue %s %v is said to leave, it is %v", q.path, got, leaving[q])
		}
		if got := c.p.Amounts(q.overdue); !got.Equal(overdue[q]) {
			return fmt.Errorf("in queue %s %v is said to be overdue, it is %v", q.path, got, overdue[q])
		}
		if got := c.p.Amounts(q.promised); !got.Equal(promised[q]) {
			return fmt.Errorf("in queue %s %v is said to be promised, it is %v", q.path, got, promised[q])
		}
	}
	return nil
}
