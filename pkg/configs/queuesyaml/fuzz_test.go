package queuesyaml

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func FuzzLoad(f *testing.F) {
	f.Add(Default())
	for _, name := range []string{"testdata/production.yaml", "testdata/everything-wrong.yaml"} {
		text, err := os.ReadFile(name)
		assert.NilError(f, err)
		f.Add(text)
	}
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, problems := Load(text)
		assert.Equal(t, c == nil, problems.HasErrors(), "a config is missing if and only if there are errors")
		for _, p := range problems {
			assert.Assert(t, p.Line > 0 && p.Col > 0 && p.Message != "", p.String())
		}
		_, again := Load(text)
		assert.DeepEqual(t, again, problems)
		if c == nil {
			return
		}
		classes, err := priorities.New(c.Classes.All()...)
		assert.NilError(t, err)
		assert.Assert(t, classes.Equal(c.Classes), "classes are valid")
		all, err := budgets.New(c.Budgets.All()...)
		assert.NilError(t, err)
		assert.Assert(t, all.Equal(c.Budgets), "budgets are valid")
		seen := map[string]bool{}
		for i := range c.Partitions {
			p := &c.Partitions[i]
			assert.Assert(t, !seen[strings.ToLower(p.Name)], "partition names are unique")
			seen[strings.ToLower(p.Name)] = true
			assert.Equal(t, p.Root.Name, configs.RootQueue)
			assert.Assert(t, p.Root.Parent && p.Root.Max.IsUnlimited() && p.Root.Guaranteed.IsEmpty())
			assertValidQueue(t, &p.Root, resources.Limit{})
		}
	})
}

// assertValidQueue checks the invariants of every queue that Load returns.
func assertValidQueue(t *testing.T, q *configs.Queue, parentMax resources.Limit) {
	assert.Assert(t, configs.IsQueueName(q.Name) && q.Name == strings.ToLower(q.Name), q.Name)
	assert.Assert(t, q.Parent || len(q.Children) == 0, "only parents have children")
	assert.Assert(t, q.Parent || q.ChildTemplate == nil, "only parents have templates")
	assert.Assert(t, q.PreemptionDelay > 0 && q.UnschedAskBackoffDelay > 0 && q.QuotaPreemptionDelay >= 0)
	assert.Assert(t, q.Properties != nil)
	for name, n := range q.Max.All() {
		most, bounded := parentMax.Get(name)
		assert.Assert(t, n >= 0 && (!bounded || n <= most), "max %s of %s is within the effective max above", name, q.Name)
	}
	parentMax = parentMax.Tighten(q.Max)
	for name, n := range q.Guaranteed.All() {
		most, bounded := parentMax.Get(name)
		assert.Assert(t, n >= 0 && (!bounded || n <= most), "guaranteed %s of %s is within max", name, q.Name)
	}
	for _, l := range q.Limits {
		assert.Assert(t, len(l.Users)+len(l.Groups) > 0, "a limit is for some user or group")
		assert.Assert(t, l.MaxApplications > 0 || !l.MaxResources.IsUnlimited(), "a limit limits something")
		assert.Assert(t, q.MaxApplications == 0 || l.MaxApplications <= q.MaxApplications)
	}
	for _, s := range limits.Scopes(q.ClassQuotas) {
		assert.Equal(t, len(s.Match.Classes) > 0, s.Match.Operator.NeedsClasses())
		all := 0
		for i := range s.Quotas {
			quota := &s.Quotas[i]
			assert.Equal(t, names.SubdomainProblem(quota.Name), "")
			assert.Assert(t, !quota.Hard.IsUnlimited(), "a class quota limits something")
			if quota.CountsAllUsers() {
				all++
			}
			for _, n := range quota.Hard.All() {
				assert.Assert(t, n >= 0)
			}
		}
		assert.Assert(t, all <= 1, "a queue has one class quota for all users of a match")
	}
	seen := map[string]bool{}
	for i := range q.Children {
		c := &q.Children[i]
		assert.Assert(t, !seen[c.Name], "%s is unique among its siblings", c.Name)
		seen[c.Name] = true
		bounded := c.MaxApplications > 0 && c.MaxApplications <= q.MaxApplications
		assert.Assert(t, q.MaxApplications == 0 || bounded, "maxapplications of %s is within its parent's", c.Name)
		assertValidQueue(t, c, parentMax)
	}
}
