package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A cluster in which always something can be placed has no evaluation of waiting states that would empty the list.
func TestWaitingChanges_EndedApplicationsAreNotCollected(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	p := objects.NewPartitionWithOptions(configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true,
		Children: []configs.Queue{{Name: "leaf", Settings: configs.DefaultSettings()}}}},
		objects.Options{Lifetimes: lifecycle.Lifetimes{MaxEnded: 10}})
	w, most := &waitingChanges{}, 0
	objects.Attach(p, w)
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	for i := range 1000 {
		id := objects.AppID(fmt.Sprint("app-", i))
		assert.NilError(t, p.AddApplication(id, security.User{Name: "ann"}, "root.leaf", nil, now))
		_, err := p.AddAsk(&objects.Ask{Key: objects.AllocationKey(id), App: id, Amounts: amounts}, now)
		assert.NilError(t, err)
		if i >= 5 {
			p.RemoveApplication(objects.AppID(fmt.Sprint("app-", i-5)), now)
		}
		most = max(most, len(w.unsettled))
	}
	assert.Assert(t, most <= 12, "%d", most)
	assert.Equal(t, len(w.takeUnsettled()), 5)
}
