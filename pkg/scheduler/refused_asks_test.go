package scheduler

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// A new quota from a tag requeues the asks that the resource manager refused, as all that frees resources does
// (ASK-34): they need not wait for the rest of the second. An application with the quota that the queue has does not.
func TestSchedule_NewQuotaOfATagRequeuesRefusedAsks(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: default
    placementrules: [{name: tag, value: namespace, create: true}]
    queues: [{name: root, submitacl: '*'}]
`))
	assert.Assert(t, conf != nil, "%v", problems)
	now, refuses := time.Unix(1_000_000_000, 0), &countingOracle{}
	core := New(conf.Partitions[0], &objects.Oracle{Fits: refuses.Fits})
	core.Step(now, AddNode{Node: "n", Total: amounts(10, 10), Schedulable: true})
	submit := func(id objects.AppID, max string) {
		core.Step(now, AddApplication{App: id, Tags: map[string]string{"namespace": "web", configs.TagMax: max}})
		core.Schedule(now, 10)
	}
	const three, four = `{"resources":{"vcore":{"value":3}}}`, `{"resources":{"vcore":{"value":4}}}`
	submit("a", three)
	core.Step(now, SubmitAsk{Ask: &objects.Ask{Key: "ask", App: "a", Amounts: amounts(1, 1)}})
	core.Schedule(now, 10)
	assert.Equal(t, refuses.calls, uint64(1))
	submit("b", three)
	assert.Equal(t, refuses.calls, uint64(1))
	submit("c", four)
	assert.Equal(t, refuses.calls, uint64(2))
	assert.NilError(t, core.Check())
}
