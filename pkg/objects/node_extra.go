package objects

import (
	"errors"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeExtra is what asks have on a node without being placed there, and what is marked for preemption there. Few nodes
// have any.
type nodeExtra struct {
	held       resources.Vector // of available, for nominees, replacing and reserved
	nominees   []*Allocation    // asks nominated for the node, oldest nomination first
	preempting []*Allocation    // marked for preemption and not overdue, in the order of their marks
	replacing  []*Allocation    // asks that will be placed here when a placeholder of another node has ended
	reserved   []*Allocation    // asks that have reserved the node, oldest reservation first
}

// noNodeExtra is what the nodes with nothing of it share. It is not changed.
var noNodeExtra nodeExtra

// ownExtra is that of n, to change it.
func (n *Node) ownExtra() *nodeExtra {
	if n.extra == &noNodeExtra {
		n.extra = &nodeExtra{}
	}
	return n.extra
}

// checkShared reports an error if what nodes or applications share was changed.
func checkShared() error {
	c, e := &noNodeExtra, &noAppExtra
	if len(c.held)+len(c.nominees)+len(c.preempting)+len(c.replacing)+len(c.reserved) > 0 {
		return errors.New("the extra of nodes without any was changed")
	}
	if e.startingEntry.Indexed() || len(e.startingEntry.Mask)+len(e.placeholders) > 0 || e.deadlineEntry != nil ||
		e.formerPeak != nil {
		return errors.New("the extra of applications without any was changed")
	}
	return nil
}
