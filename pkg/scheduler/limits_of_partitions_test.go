package scheduler_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A user in two partitions has the limits of each, and what the user uses in one does not count in the other (LIM-22).
func TestLimits_BelongToOnePartition(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: small
    limits: [{limit: ann, users: [ann], maxresources: {vcore: 2m}}]
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
  - name: large
    limits: [{limit: ann, users: [ann], maxresources: {vcore: 5m}}]
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
  - name: other
    limits: [{limit: bob, users: [bob], maxresources: {vcore: 1m}}]
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`))
	assert.Assert(t, conf != nil, "%v", problems)
	cores := make([]*scheduler.Core, len(conf.Partitions))
	for i, partition := range conf.Partitions { // all are loaded before the first ask
		cores[i] = scheduler.New(partition, nil)
	}
	for i, want := range []struct {
		max       resources.Quantity // of user ann; 0: no limit
		allocated resources.Quantity
	}{{2, 2}, {5, 5}, {0, 8}} {
		core, name := cores[i], conf.Partitions[i].Name
		core.Step(epoch, scheduler.AddNode{Node: "n", Total: vcores(100), Schedulable: true})
		core.Step(epoch, scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "ann"}})
		for k := range 8 {
			core.Step(epoch,
				scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("k", k)), App: "x",
					Amounts: vcores(1)}})
		}
		core.Schedule(epoch, 100)
		assert.NilError(t, core.Check())
		root := core.Snapshot(epoch).Root
		assert.Equal(t, root.Allocated.Get("vcore"), want.allocated, name)
		if want.max == 0 {
			assert.Equal(t, root.Limits.Len(), 0, name)
			continue
		}
		assert.Equal(t, root.Limits.Len(), 1, name)
		usage := root.Limits.At(0)
		max, _ := usage.Max.Get("vcore")
		assert.Equal(t, usage.UserOrGroup, quota.UserOrGroup{Name: "ann"}, name)
		assert.Equal(t, max, want.max, name)
		assert.Equal(t, usage.Allocated.Get("vcore"), want.allocated, name)
	}
}
