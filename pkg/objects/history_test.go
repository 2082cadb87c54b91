package objects

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The sequence numbers of history entries wrap around at 32 bits.
func TestHistory_OrderSurvivesNumberOverflow(t *testing.T) {
	keep := DefaultLifetimes()
	keep.MaxEnded = 4
	p, _, now := leafPartition(t, keep)
	p.life.rejected.count = math.MaxUint32 - 2
	ids := func() (s string) {
		for e := range p.Rejected().All() {
			s += string(e.ID)
		}
		return s
	}
	for _, id := range []AppID{"a", "b", "c", "d", "e", "c", "f"} {
		p.Reject(id, security.User{}, "root.none", "", now)
	}
	assert.Equal(t, ids(), "decf")
	assert.NilError(t, p.Check())
}
