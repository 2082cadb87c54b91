package nodeselection

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Allocations are tracked while an ask, an allocation or a foreign allocation has constraints, and not before or after.
func TestAffinity_TracksOnlyWhileNeeded(t *testing.T) {
	p, nodes := newNodes(t)
	now := time.Unix(0, 0)
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	for i := range 3 {
		assert.NilError(t,
			p.AddNode(objects.NodeID(fmt.Sprint("n", i)), resources.FromMap(map[string]resources.Quantity{"vcore": 9}),
				map[string]string{"host": fmt.Sprint(i)}, true))
	}
	assert.NilError(t, p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, now))
	tracking := func() bool {
		t.Helper()
		refresh(p, nodes)
		assert.NilError(t, p.Check())
		return nodes.tracking
	}
	labels := map[string]string{"kubernetes.io/label/app": "db"}
	labelled := objects.NewAskDetails(objects.AskDetails{Tags: labels})
	_, err := p.AddReported(&objects.Ask{Key: "plain", App: "x", Amounts: one, Details: labelled}, "n0", now)
	assert.NilError(t, err)
	assert.Assert(t, !tracking(), "labels alone are no constraint")

	tags := map[string]string{
		"kubernetes.io/label/app": "web",
		affinity.PodAntiAffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"host",` +
			`"labelSelector":{"matchLabels":{"app":"db"}}}]}`,
	}
	parsed, err := affinity.Parse(tags, nil)
	assert.NilError(t, err)
	x, err := p.AddAsk(&objects.Ask{Key: "k", App: "x", Amounts: one,
		Details: objects.NewAskDetails(objects.AskDetails{Tags: tags,
			Constraints: &objects.AskConstraints{Affinity: parsed}})}, now)
	assert.NilError(t, err)
	assert.Assert(t, tracking())
	n0, _ := p.Node("n0")
	n1, _ := p.Node("n1")
	n2, _ := p.Node("n2")
	assert.Equal(t, nodes.For(x).Refusal(n0), affinity.AntiAffinity, "the allocation was there before")
	assert.NilError(t, p.Place(x, n1, now))
	assert.Assert(t, tracking(), "the allocation has the constraint still")
	_, ok := p.Release("k", now)
	assert.Assert(t, ok && !tracking())

	assert.NilError(t, p.AddForeign(objects.Foreign{Key: "f", Node: "n2", Amounts: one, Tags: tags}))
	assert.Assert(t, tracking())
	y, err := p.AddAsk(&objects.Ask{Key: "db", App: "x", Amounts: one, Details: labelled}, now)
	assert.NilError(t, err)
	assert.Equal(t, nodes.For(y).Refusal(n2), affinity.OthersAntiAffinity)
	p.RemoveForeign("f")
	assert.Assert(t, !tracking())
	assert.Assert(t, !nodes.For(y).MayRefuse())
}
