package objects

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A cluster in which always something can be placed has no evaluation of waiting states that would empty the list.
func TestWaitingChanges_EndedApplicationsAreNotCollected(t *testing.T) {
	p, _, now := leafPartition(t, lifecycle.Lifetimes{MaxEnded: 10})
	w, most := &p.journal.waiting, 0
	for i := range 1000 {
		id := AppID(fmt.Sprint("app-", i))
		assert.NilError(t, p.AddApplication(id, security.User{Name: "ann"}, "root.leaf", nil, now))
		_, err := p.AddAsk(&Ask{Key: AllocationKey(id), App: id, Amounts: vcores(1)}, now)
		assert.NilError(t, err)
		if i >= 5 {
			p.RemoveApplication(AppID(fmt.Sprint("app-", i-5)), now)
		}
		most = max(most, len(w.unsettled))
	}
	assert.Assert(t, most <= 12, "%d", most)
	assert.Equal(t, len(w.takeUnsettled()), 5)
}
