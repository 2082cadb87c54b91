package twin

import (
	"hash/fnv"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// OracleKind says what the resource manager of a story answers when it is asked about nodes.
type OracleKind uint8

// The resource managers.
const (
	NoOracle   OracleKind = iota // it cannot be asked
	AcceptAll                    // it takes every node
	RejectSome                   // it refuses some
	RejectMost                   // it refuses every node to most asks, and some nodes to the others
)

func (r OracleKind) oracle() scheduler.Oracle {
	switch r {
	case AcceptAll:
		return scheduler.NoPredicates{}
	case RejectSome:
		return rejectingOracle{10}
	case RejectMost:
		return rejectingOracle{60}
	}
	return nil
}

func (r OracleKind) String() string {
	return [...]string{"no oracle", "accept all", "reject some", "reject most"}[r]
}

// rejectingOracle is an RM that refuses every fourth node or so, and some asks in a hundred altogether. It
// never changes its mind, so whether a refusal is remembered cannot be seen.
type rejectingOracle struct{ rejectedPercent uint64 }

// Fits implements scheduler.Oracle.
func (p rejectingOracle) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return hashPercent(string(ask)) >= p.rejectedPercent && hashPercent(string(ask)+" on "+string(node)) >= 25
}

// hashPercent is a number below a hundred that follows from s.
func hashPercent(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() % 100
}
