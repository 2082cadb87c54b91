package quota

import (
	"iter"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// constrained is root with a capacity of 100, root.a with a max of 20, a limit of 10 and one application for each
// user, and two applications of ann there.
func constrained(names *resources.NameTable) (root, leaf *Queue, apps [2]*Application) {
	root, leaf = &Queue{}, &Queue{}
	root.Init("root", nil)
	leaf.Init("root.a", root)
	settings := Settings{Max: bound(map[string]resources.Quantity{"vcore": 20}), MaxApplications: 2,
		Limits: []limits.Limit{
			{Users: []string{limits.Wildcard}, MaxResources: bound(map[string]resources.Quantity{"vcore": 10}),
				MaxApplications: 1},
			{Groups: []string{"dev"}, MaxResources: bound(map[string]resources.Quantity{"vcore": 15})},
		}}
	leaf.Configure(&settings, names, resources.Cluster)
	root.PostCapacity(nil, names.Hold(vcores(100), resources.Cluster))
	for i := range apps {
		apps[i] = &Application{}
		apps[i].Init(security.User{Name: "ann", Groups: []string{"qa", "dev"}}, leaf, i)
		apps[i].Join(nil, names)
	}
	return root, leaf, apps
}

func constraintNames(a *Application) string {
	var all []string
	for c := range a.Constraints().Each {
		all = append(all, c.String())
	}
	return strings.Join(all, ", ")
}

// Constraints are examined by kind, from the leaf up; max applications that count the application are none.
func TestConstraints_Order(t *testing.T) {
	names := resources.NewNameTable()
	_, leaf, apps := constrained(names)
	const onResources = "user ann in queue root.a, group dev in queue root.a, queue root.a, the cluster"
	assert.Equal(t, constraintNames(apps[0]), "user ann in queue root.a, queue root.a, "+onResources)
	_, blocked := apps[0].Constraints().FirstBlockingStart()
	assert.Assert(t, !blocked)

	inQueues, inLimits := apps[0].CountRunning(true)
	assert.Assert(t, inQueues == 1 && inLimits == 1)
	leaf.PostRunning(1)
	for _, m := range apps[0].Memberships() {
		m.Account().PostRunning(1)
	}
	assert.Equal(t, constraintNames(apps[0]), onResources)
	first, blocked := apps[1].Constraints().FirstBlockingStart()
	assert.Assert(t, blocked && first.Kind() == LimitMaxApplications)

	apps[0].SetRestarting(true)
	inQueues, inLimits = apps[0].CountRunning(true)
	assert.Assert(t, inQueues == 0 && inLimits == -1, "it asks again after it had nothing left (LIM-19)")
	assert.Equal(t, constraintNames(apps[0]), "user ann in queue root.a, "+onResources)
}

// Masks have the constraints, for all shapes at once.
func TestConstraints_EqualMasks(t *testing.T) {
	names, shapes := resources.NewNameTable(), feasibility.NewTable(100)
	root, leaf, apps := constrained(names)
	var all []*feasibility.Shape
	for n := resources.Quantity(1); n <= 25; n++ {
		s, _ := shapes.Acquire(names, feasibility.Request{Amounts: vcores(n)})
		all = append(all, s)
	}
	for used := resources.Quantity(0); used <= 12; used += 3 {
		v := names.Hold(vcores(used), resources.Asks)
		root.Post(v, 1)
		leaf.Post(v, 1)
		var buffer feasibility.Mask
		for _, m := range apps[0].Memberships() {
			m.Account().Post(v, 1)
			m.Account().Refit(shapes, names.Len(), &buffer)
			assert.NilError(t, m.Account().CheckFit(shapes))
		}
		for _, q := range []*Queue{root, leaf} {
			q.Refit(shapes, names.Len())
			assert.NilError(t, q.CheckFit(shapes))
		}
		for _, s := range all {
			mask := feasibility.Mask{}
			mask.CopyFrom(s.Mask())
			for _, restrict := range []func(feasibility.Mask){root.RestrictToHeadroom, leaf.RestrictToHeadroom,
				apps[0].RestrictToHeadroom} {
				restrict(mask)
			}
			blocked := false
			for c := range apps[0].Constraints().Each {
				blocked = blocked || !c.Kind().AboutApplications() && c.Blocks(s)
			}
			assert.Equal(t, mask.Empty(), blocked, "%v", s.Vector())
		}
		root.Post(v, -1)
		leaf.Post(v, -1)
		for _, m := range apps[0].Memberships() {
			m.Account().Post(v, -1)
		}
	}
}

// A shortfall is what must be released beside the expected releases and the nominees that are placed first.
func TestConstraints_Shortfalls(t *testing.T) {
	names := resources.NewNameTable()
	_, leaf, apps := constrained(names)
	amount := func(n resources.Quantity) resources.Vector { return names.Hold(vcores(n), resources.Asks) }
	leaf.Post(amount(9), 1)
	for _, m := range apps[0].Memberships() {
		m.Account().Post(amount(9), 1)
	}
	of := func(n resources.Quantity) iter.Seq2[*Application, resources.Vector] {
		return func(yield func(*Application, resources.Vector) bool) { yield(apps[1], amount(n)) }
	}
	shortfalls := func(o Outlook) string {
		var out []string
		for _, s := range apps[0].Constraints().Shortfalls(amount(4), o) {
			out = append(out, s.String()+" "+names.Amounts(s.Amount).String())
		}
		return strings.Join(out, ", ")
	}
	none := func(func(*Application, resources.Vector) bool) {}
	assert.Equal(t, shortfalls(Outlook{none, none, none}), "user ann in queue root.a {vcore=3}")
	assert.Equal(t, shortfalls(Outlook{of(3), none, none}), "")
	assert.Equal(t, shortfalls(Outlook{of(3), of(5), none}), "user ann in queue root.a {vcore=5}")
	leaf.PostNominated(amount(8), 1)
	assert.Equal(t, shortfalls(Outlook{of(3), none, none}), "queue root.a {vcore=1}")
	assert.Equal(t, shortfalls(Outlook{of(3), none, of(8)}), "", "the ask may replace nominees of lower priority")
}

// An account exists while a limit applies to an application, and knows its members.
func TestAccount_JoinAndLeave(t *testing.T) {
	names := resources.NewNameTable()
	_, leaf, apps := constrained(names)
	assert.Equal(t, len(leaf.Accounts()), 2)
	usage := leaf.LimitUsages(names)
	assert.Assert(t, usage.At(0).UserOrGroup == UserOrGroup{Name: "ann"} && usage.At(0).Applications == 2)
	group, ok := apps[0].LimitGroup()
	assert.Assert(t, ok && group == "dev", "the first group that a limit names (LIM-6)")

	dryRun := &Application{}
	dryRun.Init(security.User{Name: "bob"}, leaf, nil)
	dryRun.JoinHypothetically(names)
	assert.Assert(t, len(dryRun.Memberships()) == 1 && len(leaf.Accounts()) == 2)

	former := apps[0].Leave()
	assert.Assert(t, len(former) == 2 && len(apps[0].Memberships()) == 0)
	assert.NilError(t, apps[1].CheckMemberships())
	assert.Assert(t, former[0].Account().Members()[0].Owner() == 1)
	apps[1].Leave()
	assert.Assert(t, len(leaf.Accounts()) == 0 && former[0].Account().Current() == nil)
	apps[1].Join(names.Hold(vcores(3), resources.Asks), names)
	assert.Assert(t, former[0].Account().Current().Allocated().Sum() == 3)
}
