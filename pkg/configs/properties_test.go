package configs

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

func TestSettings_Defaults(t *testing.T) {
	assert.DeepEqual(t, DefaultSettings(), Settings{
		PreemptionDelay: 30 * time.Second, UnschedAskBackoffDelay: 30 * time.Second, Properties: map[string]string{},
	})
}

func TestSettings_ReadFromProperties(t *testing.T) {
	want := func(change func(*Settings)) Settings {
		s := DefaultSettings()
		change(&s)
		return s
	}
	for _, c := range []struct {
		name, property, text string
		want                 Settings
	}{
		{"a sort policy", sortPolicyProperty, "fair", want(func(s *Settings) { s.AppSort = policies.Fair })},
		{"stateaware is a policy of its own", sortPolicyProperty, "stateaware",
			want(func(s *Settings) { s.AppSort = policies.StateAware })},
		{"sort policies are case-sensitive", sortPolicyProperty, "Fair", DefaultSettings()},
		{"application.sort.priority disabled, in any case", sortPriorityProperty, "DisAbled",
			want(func(s *Settings) { s.PrioritySort = policies.PriorityIgnored })},
		{"another value means enabled", sortPriorityProperty, "no", DefaultSettings()},
		{"a priority fence, in any case", priorityPolicyProperty, "FeNce",
			want(func(s *Settings) { s.PriorityPolicy = policies.PriorityFence })},
		{"an unknown priority policy", priorityPolicyProperty, "disabled", DefaultSettings()},
		{"the lowest offset", priorityOffsetProperty, "-2147483648",
			want(func(s *Settings) { s.PriorityOffset = -2147483648 })},
		{"the highest offset", priorityOffsetProperty, "2147483647",
			want(func(s *Settings) { s.PriorityOffset = 2147483647 })},
		{"an offset with a plus sign", priorityOffsetProperty, "+5", want(func(s *Settings) { s.PriorityOffset = 5 })},
		{"an offset with leading zeroes", priorityOffsetProperty, "007", want(func(s *Settings) { s.PriorityOffset = 7 })},
		{"an offset beyond 32 bits is malformed", priorityOffsetProperty, "2147483648", DefaultSettings()},
		{"an offset with a space is malformed", priorityOffsetProperty, " 5", DefaultSettings()},
		{"an offset in hex is malformed", priorityOffsetProperty, "0x10", DefaultSettings()},
		{"an offset with an underscore is malformed", priorityOffsetProperty, "1_000", DefaultSettings()},
		{"a preemption fence, in any case", preemptionPolicyProperty, "FENCE",
			want(func(s *Settings) { s.PreemptionPolicy = policies.PreemptFence })},
		{"preemption disabled, in any case", preemptionPolicyProperty, "Disabled",
			want(func(s *Settings) { s.PreemptionPolicy = policies.PreemptDisabled })},
		{"preemption by priority in the leaf, in any case", priorityPreemptionProperty, "Leaf",
			want(func(s *Settings) { s.PriorityPreemption = policies.PriorityPreemptionLeaf })},
		{"preemption by priority up to the fence", priorityPreemptionProperty, "fence",
			want(func(s *Settings) { s.PriorityPreemption = policies.PriorityPreemptionFence })},
		{"an unknown value of preemption.priority", priorityPreemptionProperty, "enabled", DefaultSettings()},
		{"a preemption delay", preemptionDelayProperty, "1m30s",
			want(func(s *Settings) { s.PreemptionDelay = 90 * time.Second })},
		{"a preemption delay of zero is malformed", preemptionDelayProperty, "0s", DefaultSettings()},
		{"a negative preemption delay is malformed", preemptionDelayProperty, "-5s", DefaultSettings()},
		{"a quota preemption delay", quotaPreemptionDelayProperty, "5m",
			want(func(s *Settings) { s.QuotaPreemptionDelay = 5 * time.Minute })},
		{"a quota preemption delay of zero is off", quotaPreemptionDelayProperty, "0s", DefaultSettings()},
		{"a negative quota preemption delay is malformed", quotaPreemptionDelayProperty, "-5m", DefaultSettings()},
		{"a back-off", backoffProperty, "5", want(func(s *Settings) { s.UnschedAskBackoff = 5 })},
		{"a negative back-off is malformed", backoffProperty, "-5", DefaultSettings()},
		{"a back-off delay", backoffDelayProperty, "10s",
			want(func(s *Settings) { s.UnschedAskBackoffDelay = 10 * time.Second })},
		{"a delay without a unit is malformed", backoffDelayProperty, "10", DefaultSettings()},
		{"an empty text is the default", priorityPolicyProperty, "", DefaultSettings()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readSettings(map[string]string{c.property: c.text})
			c.want.Properties = map[string]string{c.property: c.text}
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestProperties_Inheritance(t *testing.T) {
	c, problems := Load([]byte(rootHead + `
    queues:
    - name: a
      properties:
        priority.policy: fence
        priority.offset: 100
        preemption.policy: fence
        application.sort.priority: disabled
        application.sort.policy: fair
        preemption.delay: 5s
        quota.preemption.delay: 1m
        application.unschedasks.backoff: 3
        application.unschedasks.backoff.delay: 2s
        my.own: kept
      queues:
      - name: b
        queues:
        - name: c
          properties:
            application.sort.priority: Enabled
            preemption.delay: 7s
            priority.offset: 7
    - name: disabled
      properties: {preemption.policy: Disabled}
      queues:
      - name: silent
      - name: own
        properties: {preemption.policy: default}
        queues: [{name: below}]
`))
	assert.DeepEqual(t, positions(problems), []string{"16:9 quota-delay", "19:9 property-unknown"})

	b := mustFind(t, c, "root.a.b").Settings
	assert.DeepEqual(t, b, Settings{
		AppSort: policies.Fair, PrioritySort: policies.PriorityIgnored, PreemptionDelay: 5 * time.Second,
		QuotaPreemptionDelay: time.Minute, UnschedAskBackoff: 3, UnschedAskBackoffDelay: 2 * time.Second,
		Properties: map[string]string{
			"priority.policy": "default", "priority.offset": "0", "preemption.policy": "default",
			"application.sort.priority": "disabled", "application.sort.policy": "fair", "preemption.delay": "5s",
			"quota.preemption.delay": "1m", "application.unschedasks.backoff": "3",
			"application.unschedasks.backoff.delay": "2s", "my.own": "kept",
		},
	})
	leaf := mustFind(t, c, "root.a.b.c").Settings
	assert.Equal(t, leaf.PrioritySort, policies.PriorityFirst, "a queue's own value wins")
	assert.Equal(t, leaf.PreemptionDelay, 7*time.Second)
	assert.Equal(t, leaf.PriorityOffset, int32(7))
	assert.Equal(t, leaf.Properties["my.own"], "kept")

	assert.DeepEqual(t, mustFind(t, c, "root").Properties, map[string]string{})
	a := mustFind(t, c, "root.a").Settings
	assert.Equal(t, a.PriorityPolicy, policies.PriorityFence)
	assert.Equal(t, a.PriorityOffset, int32(100))
	assert.Equal(t, a.PreemptionPolicy, policies.PreemptFence)

	assert.Equal(t, mustFind(t, c, "root.disabled.silent").PreemptionPolicy, policies.PreemptDisabled)
	assert.Equal(t, mustFind(t, c, "root.disabled.silent").Properties["preemption.policy"], "Disabled")
	assert.Equal(t, mustFind(t, c, "root.disabled.own").PreemptionPolicy, policies.PreemptDefault)
	assert.Equal(t, mustFind(t, c, "root.disabled.own.below").PreemptionPolicy, policies.PreemptDefault)
}

func TestChildTemplate_Inheritance(t *testing.T) {
	c := mustLoad(t, rootHead+`
    properties: {preemption.policy: disabled}
    childtemplate:
      maxapplications: 3
      properties: {priority.offset: 5, priority.policy: ""}
      resources:
        max: {memory: 5Gi}
    queues:
    - name: leaf
    - name: silent
      parent: true
    - name: empty
      parent: true
      childtemplate: {maxapplications: 0, properties: {}, resources: {max: {}}}
    - name: own
      childtemplate: {maxapplications: 7}
      queues:
      - name: below
        parent: true
`)
	root := mustFind(t, c, "root").ChildTemplate
	assert.Equal(t, root.MaxApplications, uint64(3))
	assert.Equal(t, root.Max.String(), "≤{memory=5368709120}")
	assert.Assert(t, root.Guaranteed.IsEmpty())
	assert.Equal(t, root.PriorityOffset, int32(5))
	assert.Equal(t, root.PreemptionPolicy, policies.PreemptDefault, "a dynamic queue inherits no properties")
	assert.DeepEqual(t, root.Properties, map[string]string{"priority.offset": "5"})

	assert.Assert(t, mustFind(t, c, "root.leaf").ChildTemplate == nil)
	assert.Assert(t, mustFind(t, c, "root.silent").ChildTemplate == root)
	assert.Assert(t, mustFind(t, c, "root.empty").ChildTemplate == root)
	own := mustFind(t, c, "root.own").ChildTemplate
	assert.Equal(t, own.MaxApplications, uint64(7))
	assert.Assert(t, own.Max.IsUnlimited(), "a template replaces that of the parent as a whole")
	assert.Assert(t, mustFind(t, c, "root.own.below").ChildTemplate == own)
}
