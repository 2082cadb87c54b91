package objects

import (
	"errors"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeClaims is what asks have on a node without being placed there, and what is marked for preemption there. Few nodes have any.
type nodeClaims struct {
	held       resources.Vector // of available, for nominees, replacing and reserved
	nominees   []*Allocation    // asks nominated for the node, oldest nomination first
	preempting []*Allocation    // marked for preemption and not overdue, in the order of their marks
	replacing  []*Allocation    // asks that will be placed here when a placeholder of another node has ended
	reserved   []*Allocation    // asks that have reserved the node, oldest reservation first
}

// noClaims is what the nodes without claims share. It is not changed.
var noClaims nodeClaims

// ownClaims are the claims of n, to change them.
func (n *Node) ownClaims() *nodeClaims {
	if n.claims == &noClaims {
		n.claims = &nodeClaims{}
	}
	return n.claims
}

// checkShared reports an error if what nodes or applications share was changed.
func checkShared() error {
	c, e := &noClaims, &noExtra
	if len(c.held)+len(c.nominees)+len(c.preempting)+len(c.replacing)+len(c.reserved) > 0 {
		return errors.New("the claims of nodes without claims were changed")
	}
	if e.startingEntry.Indexed() || len(e.startingEntry.Mask)+len(e.placeholders) > 0 || e.completingEntry != nil || e.formerPeak != nil {
		return errors.New("the extra of applications without any was changed")
	}
	return nil
}
