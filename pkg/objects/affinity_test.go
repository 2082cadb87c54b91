package objects

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Allocations are tracked while an ask, an allocation or a foreign allocation has constraints, and not before or after.
func TestAffinity_TracksOnlyWhileNeeded(t *testing.T) {
	p, now := quotaPartition(t, ""), time.Unix(0, 0)
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	for i := range 3 {
		assert.NilError(t,
			p.AddNode(NodeID(fmt.Sprint("n", i)), resources.FromMap(map[string]resources.Quantity{"vcore": 9}),
				map[string]string{"host": fmt.Sprint(i)}, true))
	}
	assert.NilError(t, p.AddApplication("x", security.User{Name: "ann"}, "root.a", nil, now))
	tracking := func() bool {
		t.Helper()
		p.RefreshShares()
		assert.NilError(t, p.Check())
		return p.journal.affinity.tracking
	}
	labels := map[string]string{"kubernetes.io/label/app": "db"}
	_, err := p.AddReported(&Ask{Key: "plain", App: "x", Amounts: one, Details: NewAskDetails(AskDetails{Tags: labels})},
		"n0", now)
	assert.NilError(t, err)
	assert.Assert(t, !tracking(), "labels alone are no constraint")

	tags := map[string]string{
		"kubernetes.io/label/app": "web",
		affinity.PodAntiAffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"host",` +
			`"labelSelector":{"matchLabels":{"app":"db"}}}]}`,
	}
	parsed, err := affinity.Parse(tags, nil)
	assert.NilError(t, err)
	x, err := p.AddAsk(&Ask{Key: "k", App: "x", Amounts: one,
		Details: NewAskDetails(AskDetails{Tags: tags, Constraints: &AskConstraints{Affinity: parsed}})}, now)
	assert.NilError(t, err)
	assert.Assert(t, tracking())
	n0, n1 := p.nodes["n0"], p.nodes["n1"]
	assert.Equal(t, p.Affinity().Check(x).Refusal(n0), affinity.AntiAffinity, "the allocation was there before")
	assert.ErrorIs(t, p.Place(x, n0, now), ErrRefused)
	assert.NilError(t, p.Place(x, n1, now))
	assert.Assert(t, tracking(), "the allocation has the constraint still")
	_, ok := p.Release("k", now)
	assert.Assert(t, ok && !tracking())

	assert.NilError(t, p.AddForeign(Foreign{Key: "f", Node: "n2", Amounts: one, Tags: tags}))
	assert.Assert(t, tracking())
	y, err := p.AddAsk(&Ask{Key: "db", App: "x", Amounts: one, Details: NewAskDetails(AskDetails{Tags: labels})}, now)
	assert.NilError(t, err)
	assert.Equal(t, p.Affinity().Check(y).Refusal(p.nodes["n2"]), affinity.OthersAntiAffinity)
	p.RemoveForeign("f")
	assert.Assert(t, !tracking())
	assert.Assert(t, !p.Affinity().Check(y).MayRefuse())
}
