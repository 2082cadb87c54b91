package limits_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

var testLimits = []limits.Limit{
	{Description: "ops and alice", Users: []string{"alice"}, Groups: []string{"ops"}},
	{Description: "wildcards", Users: []string{limits.Wildcard}, Groups: []string{limits.Wildcard}},
	{Description: "dev and bob", Users: []string{"bob"}, Groups: []string{"dev", "qa"}},
}

func TestForUser_NameBeforeWildcard(t *testing.T) {
	for _, c := range []struct{ name, user, want string }{
		{"LIM-2: a name", "alice", "ops and alice"},
		{"LIM-2: a name goes before a wildcard that comes first", "bob", "dev and bob"},
		{"LIM-2: any other user", "carol", "wildcards"},
		{"LIM-4: names match with their case", "Alice", "wildcards"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := limits.NewIndex(testLimits).ForUser(c.user)
			assert.Assert(t, ok)
			assert.Equal(t, r.Description, c.want)
		})
	}
	_, ok := limits.NewIndex(testLimits[:1]).ForUser("carol")
	assert.Assert(t, !ok, "LIM-2: without a wildcard no other user is limited")
}

func TestResolveGroup_FirstConfiguredGroup(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []string
		want   string
	}{
		{"LIM-6: the order of the configuration counts, not that of the user", []string{"dev", "ops"}, "ops"},
		{"LIM-6: the order within a limit counts too", []string{"qa", "dev"}, "dev"},
		{"LIM-8: a wildcard that comes first holds for groups that are not named", []string{"qa"}, "qa"},
		{"LIM-8: the pool of all other groups", []string{"guests"}, limits.Wildcard},
		{"LIM-8: the pool counts users without groups too", nil, limits.Wildcard},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := limits.NewIndex(testLimits).ResolveGroup(c.groups)
			assert.Assert(t, ok)
			assert.Equal(t, got, c.want)
		})
	}
	_, ok := limits.NewIndex(testLimits[:1]).ResolveGroup([]string{"dev"})
	assert.Assert(t, !ok, "LIM-6: without a wildcard the queue above decides")
}

func TestForGroup_ByName(t *testing.T) {
	r, ok := limits.NewIndex(testLimits).ForGroup("qa")
	assert.Assert(t, ok)
	assert.Equal(t, r.Description, "dev and bob")
	r, ok = limits.NewIndex(testLimits).ForGroup(limits.Wildcard)
	assert.Assert(t, ok)
	assert.Equal(t, r.Description, "wildcards")
	_, ok = limits.NewIndex(testLimits).ForGroup("guests")
	assert.Assert(t, !ok, "LIM-8: the wildcard does not hold for the name of a group")
}
