package randomrun

import (
	"hash/fnv"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// OracleKind is the behaviour of the Oracle of a run.
type OracleKind uint8

// The Oracles.
const (
	NoOracle   OracleKind = iota // there is no Oracle
	RejectSome                   // it rejects some nodes
	RejectMost                   // it rejects every node for most asks, and some nodes for the others
)

// Oracle returns an Oracle that behaves so; nil: none.
func (r OracleKind) Oracle() *objects.Oracle {
	switch r {
	case RejectSome:
		return &objects.Oracle{Fits: rejectingOracle{10}.fits}
	case RejectMost:
		return &objects.Oracle{Fits: rejectingOracle{60}.fits}
	}
	return nil
}

func (r OracleKind) String() string {
	return [...]string{"no oracle", "reject some", "reject most"}[r]
}

// rejectingOracle rejects about every fourth node, and some asks in a hundred on every node. Its
// answers do not change, so that caching them has no effect.
type rejectingOracle struct{ rejectedPercent uint64 }

func (p rejectingOracle) fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return hashPercent(string(ask)) >= p.rejectedPercent && hashPercent(string(ask)+" on "+string(node)) >= 25
}

// hashPercent returns a number below a hundred that depends on s.
func hashPercent(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64() % 100
}
