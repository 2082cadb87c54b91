package queuesyaml

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

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
        quota.percent.settle: 20s
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
	assert.DeepEqual(t, positions(problems),
		[]string{"14:34 fair-parent", "16:9 quota-delay", "18:9 property-unused", "20:9 property-unknown"})

	b := mustFind(t, c, "root.a.b").Settings
	assert.DeepEqual(t, b, configs.Settings{
		AppSort: policies.Fair, PrioritySort: policies.PriorityIgnored, PreemptionDelay: 5 * time.Second,
		QuotaPreemptionDelay: time.Minute, QuotaSettle: 20 * time.Second, UnschedAskBackoff: 3,
		UnschedAskBackoffDelay: 2 * time.Second,
		RunTime:                configs.RunTime{Grace: 30 * time.Second},
		Properties: map[string]string{
			"priority.policy": "default", "priority.offset": "0", "preemption.policy": "default",
			"application.sort.priority": "disabled", "application.sort.policy": "fair", "preemption.delay": "5s",
			"quota.preemption.delay": "1m", "quota.percent.settle": "20s", "application.unschedasks.backoff": "3",
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
