package preemption

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Check of the partition, and its audit, find a queue that is listed as above its enforced max and is not, and one that
// is above it and not listed.
func TestChanges_PartitionChecksEnforcement(t *testing.T) {
	for _, listed := range []bool{true, false} {
		leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings(),
			Max: resources.LimitFromMap(map[string]resources.Quantity{"vcore": 1})}
		leaf.QuotaPreemptionDelay = time.Second
		p := objects.NewPartition(configs.Partition{Name: "default", QuotaPreemptionEnabled: true, Root: configs.Queue{
			Name: "root", Parent: true, Children: []configs.Queue{leaf}}})
		c := watch(p, fairshare.New(p))
		q, _ := p.Queue("root.a")
		amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 5})
		assert.NilError(t, p.AddNode("n", amounts, nil, true))
		assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, "root.a", nil, time.Unix(1, 0)))
		_, err := p.AddReported(&objects.Ask{Key: "k", App: "app", Amounts: amounts}, "n", time.Unix(1, 0))
		assert.NilError(t, err)
		c.enforcement.Update(time.Unix(1, 0), func(*quota.Queue) {})
		assert.NilError(t, p.Check())
		_, above := q.Quota().AboveMax(p)
		assert.Assert(t, above)
		if listed { // as if the release had not reached c
			c.enforcement = quota.Enforcement{}
		} else {
			q.Quota().SetEnforcement(false, 0)
			c.enforcement.RecheckSettings(q.Quota())
			c.enforcement.Update(time.Unix(2, 0), func(*quota.Queue) {})
		}
		assert.Assert(t, p.Check() != nil)
		audit := p.NewAudit()
		for done := false; !done; {
			done, err = audit.Step(1)
		}
		assert.Assert(t, err != nil)
	}
}
