package quota

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func vcores(n resources.Quantity) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": n})
}

func bound(of map[string]resources.Quantity) resources.Limit { return resources.LimitFromMap(of) }

// classTree is root and root.a with class quotas, an application of ann in root.a and one of bob there.
func classTree(names *resources.NameTable) (t *Tree, root, leaf *Queue, ann, bob *Application) {
	t, root, leaf, ann, bob = &Tree{}, &Queue{}, &Queue{}, &Application{}, &Application{}
	root.Init("root", nil)
	leaf.Init("root.a", root)
	high := limits.Selector{Operator: limits.In, Classes: []string{"high"}}
	root.Configure(&Settings{ClassQuotas: []limits.ClassQuota{{Name: "all", Match: high,
		Hard: bound(map[string]resources.Quantity{"vcore": 10})}}}, names, resources.Cluster)
	leaf.Configure(&Settings{ClassQuotas: []limits.ClassQuota{{Name: "each", Match: high, Users: []string{limits.Wildcard},
		Hard: bound(map[string]resources.Quantity{"pods": 2})}}}, names, resources.Cluster)
	t.CountSettings(root, false)
	t.CountSettings(leaf, false)
	t.ApplyClassQuotas([]limits.Selector{{Operator: limits.Exists}})
	ann.Init(security.User{Name: "ann"}, leaf, nil)
	bob.Init(security.User{Name: "bob"}, leaf, nil)
	return t, root, leaf, ann, bob
}

// A class quota counts the asks of its class in the queue and below it, all together or for each user, and no ask
// may exceed it.
func TestClassQuotas_CountAndReject(t *testing.T) {
	names := resources.NewNameTable()
	tree, root, leaf, ann, bob := classTree(names)
	one := names.Hold(vcores(4), resources.Asks)
	for _, a := range []*Application{ann, ann, bob} {
		if a == bob {
			assert.ErrorContains(t, tree.CheckClassQuotas(ann, "high", nil, names),
				"quota each of queue root.a for user ann: asked pods=1, used pods=2, allowed pods=2")
			assert.ErrorContains(t, tree.CheckClassQuotas(bob, "high", one, names),
				"quota all of queue root: asked vcore=4m, used vcore=8m, allowed vcore=10m")
		} else {
			assert.NilError(t, tree.CheckClassQuotas(a, "high", one, names))
		}
		a.PostClassUsage("high", one, 1) // also if the RM reports it beyond a quota
	}
	assert.Equal(t, root.ClassQuotas(names)[0].Used.At(0).Amounts.Get("vcore"), resources.Quantity(12))
	assert.Equal(t, leaf.ClassQuotas(names)[0].Used.Len(), 2)
	assert.ErrorContains(t, tree.CheckClassQuotas(ann, "low", one, names), "insufficient quota to match these scopes: [{")
	assert.NilError(t, tree.CheckClassQuotas(ann, "", one, names), "no class needs no quota")
	assert.NilError(t, tree.CheckGrowth(ann, "high", resources.Vector{-1}, names), "an ask may shrink (QUO-39)")
	assert.ErrorContains(t, tree.CheckGrowth(ann, "high", resources.Vector{1}, names), "quota all")

	var recount ClassRecount
	for _, a := range []*Application{ann, ann, bob} {
		recount.Add(a, "high", vcores(4))
	}
	assert.NilError(t, recount.Check(root, names))
	assert.NilError(t, recount.Check(leaf, names))
	for _, a := range []*Application{ann, ann, bob} {
		a.PostClassUsage("high", one, -1)
	}
	assert.Assert(t, recount.Check(leaf, names) != nil)
	assert.Assert(t, root.classes.usage == nil && leaf.classes.usage == nil, "nothing counts, nothing is kept")
}

// Without class quotas and classes that need one, asks are not looked at.
func TestTree_CountsQueuesWithClassQuotas(t *testing.T) {
	names := resources.NewNameTable()
	tree, root, leaf, ann, _ := classTree(names)
	tree.ApplyClassQuotas(nil)
	_, counted := tree.QueueCounts()
	assert.Assert(t, tree.HasClassQuotas() && counted == 2)
	root.Configure(&Settings{}, names, resources.Cluster).Release(names)
	tree.CountSettings(root, false)
	tree.CountSettings(leaf, true)
	tree.ApplyClassQuotas(nil)
	_, counted = tree.QueueCounts()
	assert.Assert(t, !tree.HasClassQuotas() && counted == 0)
	assert.NilError(t, tree.CheckClassQuotas(ann, "high", resources.Vector{99}, names))
}
