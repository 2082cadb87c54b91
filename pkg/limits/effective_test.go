package limits

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func cores(n resources.Quantity) resources.Limit {
	return resources.LimitFromMap(map[string]resources.Quantity{"vcore": n})
}

func names(s ...string) []string { return s }

var path = Path{
	{ // the leaf
		{Users: names("ann"), MaxApplications: 9},
		{Groups: names("ops", "dev"), MaxResources: cores(8)},
	},
	{ // its parent
		{Users: names("bob", Wildcard), MaxApplications: 4, MaxResources: cores(50)},
		{Groups: names("qa"), MaxResources: cores(3)},
		{Groups: names(Wildcard), MaxResources: cores(6)},
	},
	{ // root
		{Users: names("ann"), MaxResources: cores(20)},
		{Users: names(Wildcard), MaxResources: cores(10)},
		{Groups: names("dev", Wildcard), MaxApplications: 7},
	},
}

func TestUsersAreNamedOrOneOfAllOthersAtEachQueue(t *testing.T) {
	for _, c := range []struct {
		name, user string
		want       Bound
	}{
		{"8.2: a name hides the wildcard of its queue alone", "ann", Bound{cores(20), 4}},
		{"8.2: the wildcard is for each user who is not named", "eve", Bound{cores(10), 4}},
		{"8.2: a user and a wildcard may share a rule", "bob", Bound{cores(10), 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := path.User(c.user)
			assert.Assert(t, got.MaxResources.Equal(c.want.MaxResources), "%v", got)
			assert.Equal(t, got.MaxApplications, c.want.MaxApplications)
		})
	}
	assert.DeepEqual(t, Path{{}, {}}.User("ann").MaxResources.Map(), map[string]resources.Quantity{})
}

func TestTheFirstConfiguredGroupFromTheLeafUpAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []string
		want   string
		apps   uint64
		cores  resources.Quantity
	}{
		{"8.3: the order of the rules counts, not that of the user's groups", names("dev", "ops"), "ops", 0, 8},
		{"8.3: all limits of that group along the path count", names("dev"), "dev", 7, 8},
		{"8.3: without one in the leaf the parent is asked", names("qa"), "qa", 0, 3},
		{"8.3: a wildcard hides what is named higher up", names("x"), Wildcard, 7, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := path.GroupOf(c.groups)
			assert.Assert(t, ok)
			assert.Equal(t, got, c.want)
			b := path.Group(got)
			assert.Equal(t, b.MaxApplications, c.apps)
			assert.Assert(t, b.MaxResources.Equal(cores(c.cores)), "%v", b.MaxResources)
		})
	}
	_, ok := path[:1].GroupOf(names("x"))
	assert.Assert(t, !ok, "8.3: nobody answers")
}
