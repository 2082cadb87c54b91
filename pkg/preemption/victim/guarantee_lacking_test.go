package victim_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// Where preemption.guarantee: all entitles an ask, lacking has the same plan; it never entitles fewer (PRE-121).
func TestPreemptionGuarantee_LackingIsNeverStricter(t *testing.T) {
	plans, more, clusters := 0, 0, testscale.Runs(3000)
	for seed := range uint64(clusters) {
		d := newGenerator(seed)
		p := d.cluster(t)
		x, err := p.AddAsk(d.ask("ask"), epoch)
		assert.NilError(t, err)
		find := func(g policies.PreemptionGuarantee) (plan victim.Plan, entitled, found bool) {
			conf := p.Config()
			conf.Root = withGuarantee(conf.Root, g)
			assert.NilError(t, p.Reconfigure(conf, nil))
			_, entitled = victim.GuaranteedQueue(x)
			if entitled {
				plan, found = victim.NewSearch(fairshare.New(p), 0, nil).At(afterDelays).Find(x, victim.ReasonGuarantee, nil)
			}
			return plan, entitled, found
		}
		all, entitledByAll, foundByAll := find(policies.PreemptionGuaranteeAll)
		lacking, entitledByLacking, foundByLacking := find(policies.PreemptionGuaranteeLacking)
		switch {
		case entitledByAll:
			assert.Assert(t, entitledByLacking && foundByAll == foundByLacking && all.Node == lacking.Node)
			assert.DeepEqual(t, victimKeys(all.Victims), victimKeys(lacking.Victims))
			plans += len(all.Victims)
		case foundByLacking:
			more++
		}
	}
	assert.Assert(t, plans > clusters/100 && more > clusters/300, "%d victims by all, %d plans by lacking only", plans,
		more)
}

// withGuarantee returns q with a value of preemption.guarantee in it and in the queues below.
func withGuarantee(q configs.Queue, g policies.PreemptionGuarantee) configs.Queue {
	q.PreemptionGuarantee, q.Children = g, slices.Clone(q.Children)
	for i := range q.Children {
		q.Children[i] = withGuarantee(q.Children[i], g)
	}
	return q
}
