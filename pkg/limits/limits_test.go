package limits_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

var testLimits = []limits.Limit{
	{Description: "ops and alice", Users: []string{"alice"}, Groups: []string{"ops"}},
	{Description: "everybody", Users: []string{limits.Wildcard}, Groups: []string{limits.Wildcard}},
	{Description: "dev and bob", Users: []string{"bob"}, Groups: []string{"dev", "qa"}},
}

func TestForUser_NameBeforeWildcard(t *testing.T) {
	for _, c := range []struct{ name, user, want string }{
		{"8.2 a name", "alice", "ops and alice"},
		{"8.2 a name goes before a wildcard that comes first", "bob", "dev and bob"},
		{"8.2 anybody else", "carol", "everybody"},
		{"8.2 names match with their case", "Alice", "everybody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok := limits.ForUser(testLimits, c.user)
			assert.Assert(t, ok)
			assert.Equal(t, r.Description, c.want)
		})
	}
	_, ok := limits.ForUser(testLimits[:1], "carol")
	assert.Assert(t, !ok, "8.2 without a wildcard nobody else is limited")
}

func TestResolveGroup_FirstConfiguredGroup(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []string
		want   string
	}{
		{"8.3 the order of the configuration counts, not that of the user", []string{"dev", "ops"}, "ops"},
		{"8.3 within a rule too", []string{"qa", "dev"}, "dev"},
		{"8.3 a wildcard that comes first is for those whom nothing names", []string{"qa"}, "qa"},
		{"8.3 the pool of all others", []string{"guests"}, limits.Wildcard},
		{"8.3 the pool of those without groups", nil, limits.Wildcard},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := limits.ResolveGroup(testLimits, c.groups)
			assert.Assert(t, ok)
			assert.Equal(t, got, c.want)
		})
	}
	_, ok := limits.ResolveGroup(testLimits[:1], []string{"dev"})
	assert.Assert(t, !ok, "8.3 without a wildcard a queue further up may know")
}

func TestForGroup_ByName(t *testing.T) {
	r, ok := limits.ForGroup(testLimits, "qa")
	assert.Assert(t, ok)
	assert.Equal(t, r.Description, "dev and bob")
	r, ok = limits.ForGroup(testLimits, limits.Wildcard)
	assert.Assert(t, ok)
	assert.Equal(t, r.Description, "everybody")
	_, ok = limits.ForGroup(testLimits, "guests")
	assert.Assert(t, !ok, "8.3 what is limited as one of all others is not limited by name")
}
