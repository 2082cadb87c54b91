package webservice_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A pending ask shows its nominated node, its victim in the preemption history the grace period.
func TestS3_27_NominatedNodeIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, problems := queuesyaml.Load([]byte(preemptionYAML))
		assert.Assert(t, !problems.HasErrors(), "%v", problems)
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
		t.Cleanup(c.End)
		assert.NilError(t, c.Configure(t.Context(), conf))
		l, _ := c.Partition("default")
		one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
		ask := func(key objects.AllocationKey, priority int32) *objects.Ask {
			return &objects.Ask{
				Key: key, App: "etl", Priority: priority, Amounts: one,
				Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
				Details: &objects.AskDetails{Tags: map[string]string{priorities.GracePeriodTag: "45"}},
			}
		}
		mustCall(t, l, scheduler.AddApplication{App: "etl", Queue: "root.batch"},
			scheduler.AddNode{Node: "n1", Total: one, Schedulable: true})
		mustCall(t, l, scheduler.ReportAllocation{Ask: ask("low", 0), Node: "n1"})
		mustCall(t, l, scheduler.SubmitAsk{Ask: ask("high", 10)})
		synctest.Wait()
		body := fetch(c, "/ws/v1/partition/default/application/etl").Body.String()
		assert.Assert(t, strings.Contains(body, `"triggeredPreemption":true,"nominatedNode":"n1"`), body)
		body = fetch(c, "/ws/v1/partition/default/queues").Body.String()
		assert.Equal(t, strings.Count(body, `"preemptingResource":{"vcore":1}`), 2, "leaf queue and root: %s", body)
		body = fetch(c, "/ws/v1/partition/default/preemptions").Body.String()
		assert.Assert(t, strings.Contains(body, `"gracePeriodSeconds":45`), body)
	})
}
