package diff

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The effective limits of a Change are those that package limits computes for a path.
func TestDiff_EffectiveLimits(t *testing.T) {
	atMost := func(resource string, n resources.Quantity) resources.Limit {
		return resources.LimitFromMap(map[string]resources.Quantity{resource: n})
	}
	root := &configs.Queue{Name: "root", Parent: true, Limits: []limits.Limit{
		{Users: []string{"ann", "*"}, MaxApplications: 5}, {Groups: []string{"dev"}, MaxResources: atMost("vcore", 9000)},
	}}
	a := &configs.Queue{Name: "a", Limits: []limits.Limit{
		{Users: []string{"bob"}, MaxApplications: 4, MaxResources: atMost("vcore", 3000)},
		{Groups: []string{"dev", "*"}, MaxApplications: 2},
	}}
	up := &diffQueue{q: root, limits: namedLimitsOf(root.Limits, func() {})}
	s := &diffQueue{q: a, parent: up, limits: namedLimitsOf(a.Limits, func() {})}
	path := limits.Path{limits.NewIndex(a.Limits), limits.NewIndex(root.Limits)}
	for _, name := range []string{"ann", "bob", "eve", "dev", "*"} {
		user := s.effectiveBound(limitKey{false, name})
		assert.Assert(t, user.Equal(path.UserBound(name)), "user %s: %v", name, user)
		group := s.effectiveBound(limitKey{true, name})
		assert.Assert(t, group.Equal(path.GroupBound(name)), "group %s: %v", name, group)
	}
}
