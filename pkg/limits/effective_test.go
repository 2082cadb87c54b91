package limits

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func cores(n resources.Quantity) resources.Limit {
	return resources.LimitFromMap(map[string]resources.Quantity{"vcore": n})
}

func list(s ...string) []string { return s }

var path = Path{
	NewIndex([]Limit{ // the leaf
		{Users: list("ann"), MaxApplications: 9},
		{Groups: list("ops", "dev"), MaxResources: cores(8)},
	}),
	NewIndex([]Limit{ // its parent
		{Users: list("bob", Wildcard), MaxApplications: 4, MaxResources: cores(50)},
		{Groups: list("qa"), MaxResources: cores(3)},
		{Groups: list(Wildcard), MaxResources: cores(6)},
	}),
	NewIndex([]Limit{ // root
		{Users: list("ann"), MaxResources: cores(20)},
		{Users: list(Wildcard), MaxResources: cores(10)},
		{Groups: list("dev", Wildcard), MaxApplications: 7},
	}),
}

func TestPath_UserBound(t *testing.T) {
	for _, c := range []struct {
		name, user string
		want       Bound
	}{
		{"LIM-2 LIM-3: a name hides the wildcard of its own queue only", "ann", Bound{cores(20), 4}},
		{"LIM-2: the wildcard holds for each user that is not named", "eve", Bound{cores(10), 4}},
		{"LIM-2: a user and the wildcard may share a limit", "bob", Bound{cores(10), 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := path.UserBound(c.user)
			assert.Assert(t, got.MaxResources.Equal(c.want.MaxResources), "%v", got)
			assert.Equal(t, got.MaxApplications, c.want.MaxApplications)
		})
	}
	assert.DeepEqual(t, Path{nil, nil}.UserBound("ann").MaxResources.Map(), map[string]resources.Quantity{})
}

func TestPath_ResolveGroupFromLeafUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []string
		want   string
		apps   uint64
		cores  resources.Quantity
	}{
		{"LIM-6: the order of the limits counts, not that of the user's groups", list("dev", "ops"), "ops", 0, 8},
		{"LIM-7: all limits of that group along the path hold", list("dev"), "dev", 7, 8},
		{"LIM-6: without one in the leaf the parent decides", list("qa"), "qa", 0, 3},
		{"LIM-8: a wildcard hides names of the queues above", list("x"), Wildcard, 7, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := path.ResolveGroup(c.groups)
			assert.Assert(t, ok)
			assert.Equal(t, got, c.want)
			b := path.GroupBound(got)
			assert.Equal(t, b.MaxApplications, c.apps)
			assert.Assert(t, b.MaxResources.Equal(cores(c.cores)), "%v", b.MaxResources)
		})
	}
	_, ok := path[:1].ResolveGroup(list("x"))
	assert.Assert(t, !ok, "LIM-9: no limit names a group of the user")
}
