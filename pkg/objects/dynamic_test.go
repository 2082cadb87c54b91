package objects

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// QUE-25: the max of a child template may be larger than the max of the queue above. An ask that is
// within the max of the dynamic leaf must still fit the queue above.
func TestCreateLeaf_TemplateMaxMayExceedMaxAbove(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [
		{name: team, parent: true, resources: {max: {vcore: 2}},
		 childtemplate: {resources: {max: {vcore: 8}, guaranteed: {vcore: 4}}}}]}]}]`))
	assert.Assert(t, conf != nil, problems)
	assert.Equal(t, len(problems), 0, "%v", problems)
	p := NewPartition(conf.Partitions[0])
	assert.NilError(t, p.AddNode("n", cores(100_000), nil, true))
	assert.NilError(t, p.CreateLeaf("root.team.new", security.User{Name: "ann"}))
	leaf, team := p.queues["root.team.new"], p.queues["root.team"]
	assert.Assert(t, leaf.Max().Equal(conf.Partitions[0].Root.Children[0].ChildTemplate.Max))

	assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, leaf.Path(), nil, epoch))
	large, err := p.AddAsk(&Ask{Key: "large", App: "app", Amounts: cores(3000)}, epoch)
	assert.NilError(t, err)
	blocking, ok := large.Application().Constraints().FirstBlocking(large.Shape())
	assert.Assert(t, ok && blocking.Queue() == team.Quota())
	assert.ErrorIs(t, p.Place(large, p.nodes["n"], epoch), ErrOverLimit)
	small, err := p.AddAsk(&Ask{Key: "small", App: "app", Amounts: cores(2000)}, epoch)
	assert.NilError(t, err)
	assert.NilError(t, p.Place(small, p.nodes["n"], epoch))
	assert.NilError(t, p.Check())
}
