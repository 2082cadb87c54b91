package metrics

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
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

func TestGathering_NamesAreValidAndEscaped(t *testing.T) {
	x := newGathering(nil)
	x.value(gauge("a", "a \"b\" \\ c\nd", "partition", "queue"), 1.5, "p\"\\\n\xff", "é")
	assert.Equal(t, textOf(t, x),
		"# HELP a a \"b\" \\\\ c\\nd\n# TYPE a gauge\na{partition=\"p\\\"\\\\\\n_\",queue=\"é\"} 1.5\n")
}
