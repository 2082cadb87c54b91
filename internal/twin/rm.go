package twin

import (
	"hash/fnv"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// RM says what the resource manager of a story answers when it is asked about nodes.
type RM uint8

// The resource managers.
const (
	Silent   RM = iota // it cannot be asked
	Willing            // it takes every node
	Picky              // it refuses some
	Stubborn           // it refuses every node to most asks, and some nodes to the others
)

func (r RM) oracle() scheduler.Oracle {
	switch r {
	case Willing:
		return scheduler.Willing{}
	case Picky:
		return picky{10}
	case Stubborn:
		return picky{60}
	}
	return nil
}

func (r RM) String() string { return [...]string{"silent", "willing", "picky", "stubborn"}[r] }

// picky is an RM that refuses every fourth node or so, and some asks in a hundred altogether. It
// never changes its mind, so whether a refusal is remembered cannot be seen.
type picky struct{ asks uint64 }

// Fits implements scheduler.Oracle.
func (p picky) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return chance(string(ask)) >= p.asks && chance(string(ask)+" on "+string(node)) >= 25
}

// chance is a number below a hundred that follows from s.
func chance(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() % 100
}
