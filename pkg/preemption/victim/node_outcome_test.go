package victim_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// candidateFact is a victim.Candidate by its key.
type candidateFact struct {
	Key        objects.AllocationKey
	Ineligible victim.IneligibleReason
	Victim     bool
}

func candidateFacts(list []victim.Candidate) (out []candidateFact) {
	for _, y := range list {
		out = append(out, candidateFact{y.Key(), y.Ineligible, y.Victim})
	}
	return out
}

// Candidates says of each allocation on the node why it is no victim, also where it selects no victims again; and
// for a plan without victims which they would be (PRE-110).
func TestSearch_CandidatesEqualFullSelection(t *testing.T) {
	plans, protected, selected := 0, 0, 0
	clusters := testscale.Runs(3000)
	for seed := range uint64(clusters) {
		d := newGenerator(seed)
		d.noGroups, d.noGuarantees = seed%2 == 0, seed%3 == 0
		p := d.cluster(t)
		x, err := p.AddAsk(d.ask("ask"), epoch)
		assert.NilError(t, err)
		reasons, _ := preemption.EntitledReasons(fairshare.Of(p), x, afterDelays)
		search := victim.NewSearch(fairshare.New(p), 0, nil).At(afterDelays)
		for _, r := range reasons {
			plan, found := search.Find(x, r, nil)
			if !found {
				continue
			}
			plans++
			got, marks := candidateFacts(search.Candidates(plan)), 0
			assert.DeepEqual(t, got, candidateFacts(victim.CandidatesByFullSelection(search, plan)))
			for _, c := range got {
				assert.Assert(t, !c.Victim || c.Ineligible == victim.Eligible, "%v", c)
				if c.Victim {
					marks++
				}
				if c.Ineligible == victim.IneligibleGuarantee || c.Ineligible == victim.IneligibleBudget {
					protected++
				}
			}
			onNode := 0
			for _, y := range plan.Victims {
				if y.Node() == plan.Node {
					onNode++
				}
			}
			assert.Equal(t, marks, onNode)
			if len(plan.Victims) > 0 && onNode == len(plan.Victims) && len(victim.QuotaShortfalls(p, x)) == 0 {
				plan.Victims = nil
				assert.DeepEqual(t, candidateFacts(search.Candidates(plan)), got)
				selected++
			}
		}
	}
	t.Logf("%d plans, %d protected allocations, %d plans without victims", plans, protected, selected)
	assert.Assert(t, plans > clusters/20 && protected > clusters/100 && selected > clusters/50,
		"%d plans, %d protected, %d without victims", plans, protected, selected)
}
