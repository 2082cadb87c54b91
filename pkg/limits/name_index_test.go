package limits_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// With a look-up that searches the names, these tests take longer than a test may.
const manyNames = 100_000

func TestIndex_LooksUpEachOfManyNamesAtTheSameCost(t *testing.T) {
	names := make([]string, manyNames)
	for i := range names {
		names[i] = fmt.Sprintf("name-%06d", i)
	}
	x := limits.NewIndex([]limits.Limit{{Users: names[:manyNames/2], Groups: names},
		{Users: names[manyNames/2:], MaxApplications: 1}})
	for i, name := range names {
		user, userFound := x.ForUser(name)
		group, resolved := x.ResolveGroup([]string{"none", name})
		_, groupFound := x.ForGroup(name)
		if !userFound || user.MaxApplications != uint64(i/(manyNames/2)) || !resolved || group != name || !groupFound {
			t.Fatalf("%s is not found", name)
		}
	}
	group, ok := x.ResolveGroup([]string{names[7], names[3], names[5]})
	assert.Assert(t, ok && group == names[3], "LIM-6: the order of the configuration counts")
}

func TestScope_LooksUpEachOfManyNamesAtTheSameCost(t *testing.T) {
	quotas := make([]limits.ClassQuota, manyNames)
	for i := range quotas {
		name := []string{fmt.Sprintf("name-%06d", i)}
		quotas[i] = limits.ClassQuota{Name: name[0], Match: limits.Selector{Operator: limits.Exists}, Users: name,
			Groups: name}
	}
	s := limits.Scopes(quotas)[0]
	for i := range quotas {
		name := quotas[i].Name
		if at, group := s.IndexForGroups([]string{"none", name}); s.IndexForUser(name) != i || at != i || group != name {
			t.Fatalf("%s is not found", name)
		}
	}
}
