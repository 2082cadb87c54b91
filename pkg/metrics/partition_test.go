package metrics

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// textOf returns the text of the families of x, in no order.
func textOf(t *testing.T, x *gathering) string {
	t.Helper()
	var text bytes.Buffer
	for _, f := range x.families {
		_, err := expfmt.MetricFamilyToText(&text, f)
		assert.NilError(t, err)
	}
	return text.String()
}

// Queues in a cool-down, a queue above its max and a node above its capacity, which no fixture has.
func TestWritePartition_CoolDownsAndQuotaViolations(t *testing.T) {
	s := &scheduler.Snapshot{
		CoolDowns: []preemption.CoolDown{{A: "root.a", B: "root.b"}, {A: "root.c", B: "root.c"}},
		Root: &scheduler.QueueView{Path: "root",
			Children: persistent.ListOf(&scheduler.QueueView{Path: "root.a", Leaf: true, AboveMax: &quota.AboveMax{}})},
	}
	lacks := resources.Amounts{}.Sub(resources.FromMap(map[string]resources.Quantity{"gpu": 1}))
	s.Nodes = persistent.ListOf(&scheduler.NodeView{ID: "n1", Available: lacks}, &scheduler.NodeView{ID: "n2"})
	x := newGathering(nil)
	to := partitionWriter{x, "p"}
	writePartition(to, s)
	queues := queueWriter{partitionWriter: to}
	queues.queue(s.Root)
	writeTotals(to, &queues.totals, s.At)
	text := textOf(t, x)
	for _, want := range []string{
		`canopy_preemption_cool_downs{other_queue="root.b",partition="p",queue="root.a"} 1` + "\n",
		`canopy_preemption_cool_downs{other_queue="root.c",partition="p",queue="root.c"} 1` + "\n",
		`canopy_queues_violating_quota{partition="p"} 1` + "\n",
		`canopy_nodes_overcommitted{partition="p"} 1` + "\n",
	} {
		assert.Assert(t, strings.Contains(text, want), "no %s in\n%s", want, text)
	}
}

// Queues that are ordered by usage over time, of which one was used for a half-life, and an application that was raised
// by waiting.
func TestQueueWriter_UsageOverTimeAndAgeing(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`
partitions:
  - name: p
    queues:
      - name: root
        submitacl: '*'
        properties: {fairness.halflife: 1h}
        queues: [{name: a}, {name: b, properties: {priority.ageing: 1 per 1m up to 5}}]
`))
	assert.Assert(t, conf != nil, "%v", problems)
	core, now := scheduler.New(conf.Partitions[0], nil), time.Unix(1_000_000_000, 0)
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 2})
	core.Step(now, scheduler.AddNode{Node: "n", Total: amounts, Schedulable: true})
	for app, queue := range map[objects.AppID]string{"x": "root.a", "y": "root.b"} {
		core.Step(now, scheduler.AddApplication{App: app, Queue: queue, User: security.User{Name: "u"}})
	}
	for _, app := range []objects.AppID{"x", "y"} {
		core.Step(now, scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(app), App: app, Amounts: amounts}})
	}
	core.Schedule(now, 10)
	now = now.Add(time.Hour)
	core.Schedule(now, 10)
	x := newGathering(nil)
	queues := queueWriter{partitionWriter: partitionWriter{x, "p"}, at: now}
	queues.queue(core.FullSnapshot(now).Root)
	writeTotals(queues.partitionWriter, &queues.totals, now)
	text := textOf(t, x)
	for _, want := range []string{
		`canopy_queue_usage_over_time{partition="p",queue="root.a"} 0.49`,
		`canopy_queue_usage_over_time{partition="p",queue="root.b"} 0` + "\n",
		`canopy_applications_raised{partition="p"} 1` + "\n",
	} {
		assert.Assert(t, strings.Contains(text, want), "no %s in\n%s", want, text)
	}
	assert.Assert(t, !strings.Contains(text, `queue="root"} 0.`))
}

func TestGathering_NamesAreValidAndEscaped(t *testing.T) {
	x := newGathering(nil)
	x.value(gauge("a", "a \"b\" \\ c\nd", "partition", "queue"), 1.5, "p\"\\\n\xff", "é")
	assert.Equal(t, textOf(t, x),
		"# HELP a a \"b\" \\\\ c\\nd\n# TYPE a gauge\na{partition=\"p\\\"\\\\\\n_\",queue=\"é\"} 1.5\n")
}
