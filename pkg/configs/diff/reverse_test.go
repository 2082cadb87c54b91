package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// The reverse Change has as many changes of each kind as the Change, each with before and after
// exchanged (CFG-125).
func TestDiff_ReverseIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := randomConfig(t, "old"), randomConfig(t, "new")
		forward, reverse := diff.Compare(old, new), diff.Compare(new, old)
		assert.DeepEqual(t, inverse(forward), inverse(inverse(reverse)))
		for from, to := range map[diff.Kind]diff.Kind{diff.Created: diff.Removed, diff.Removed: diff.Created,
			diff.Changed: diff.Changed} {
			queues, limits := forward.Count(from)
			otherQueues, otherLimits := reverse.Count(to)
			assert.Equal(t, queues, otherQueues, from)
			assert.Equal(t, limits, otherLimits, from)
		}
	})
}

// randomConfig is a small valid configuration. Two of them have many queues in common.
func randomConfig(t *rapid.T, label string) *configs.Config {
	var b strings.Builder
	draw := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
	b.WriteString("partitions:\n")
	for _, p := range []string{"default", "gpu"} {
		if p == "gpu" && draw("", "gpu") == "" {
			continue
		}
		fmt.Fprintf(&b, "- name: %s\n  queues:\n  - name: root\n    submitacl: '*'\n", p)
		randomQueues(&b, draw, "    ", 1)
	}
	b.WriteString("priorityclasses: [" + draw("", "{name: low, value: 1}",
		"{name: low, value: 2}, {name: high, value: 3}") + "]\n")
	b.WriteString("disruptionbudgets: [" + draw("", "{name: x, minAvailable: 1, selector: {matchLabels: {a: b}}}") + "]\n")
	c, problems := queuesyaml.Load([]byte(b.String()))
	if c == nil {
		t.Fatalf("%v\n%s", problems, b.String())
	}
	return c
}

func randomQueues(b *strings.Builder, draw func(...string) string, indent string, level int) {
	b.WriteString(draw("", indent+"limits: [{users: [ann], maxapplications: 5}]\n",
		indent+"limits: [{users: [ann, '*'], maxapplications: 5, maxresources: {vcore: 4}}, {groups: [dev, ops], "+
			"maxapplications: 9}]\n",
		indent+"limits: [{users: [bob], maxapplications: 3, maxresources: {memory: 8Gi}}]\n"))
	if level > 1 {
		b.WriteString(draw("", indent+"resources: {max: {vcore: 10}}\n",
			indent+"resources: {max: {vcore: 10, memory: 64Gi}}\n"))
		b.WriteString(draw("", indent+"parent: true\n"))
		b.WriteString(draw("", indent+"properties: {priority.offset: 5}\n", indent+"properties: {preemption.delay: 5s}\n"))
	}
	if level > 3 {
		b.WriteString(draw("", indent+"childtemplate: {resources: {guaranteed: {vcore: 1}}}\n"))
		return
	}
	b.WriteString(indent + "queues:\n")
	for _, name := range []string{"a", "b"} {
		if draw("", name) != "" {
			b.WriteString(indent + "- name: " + name + "\n")
			randomQueues(b, draw, indent+"  ", level+1)
		}
	}
}

// inverse exchanges before and after of a Change, without the values of created and removed
// objects: only created objects have them.
func inverse(c diff.Change) diff.Change {
	kind := map[diff.Kind]diff.Kind{diff.Created: diff.Removed, diff.Removed: diff.Created, diff.Changed: diff.Changed}
	values := func(of diff.Kind, list []diff.ValueChange) (out []diff.ValueChange) {
		for _, v := range list {
			if of == diff.Changed {
				out = append(out, diff.ValueChange{v.Name, v.After, v.Before, v.Inherited})
			}
		}
		return out
	}
	out := diff.Change{Partitions: []diff.PartitionChange{}}
	for _, p := range c.Partitions {
		x := diff.PartitionChange{Partition: p.Partition, Kind: kind[p.Kind], Settings: values(p.Kind, p.Settings)}
		for _, q := range p.Queues {
			x.Queues = append(x.Queues, diff.QueueChange{q.Queue, kind[q.Kind], values(q.Kind, q.Values)})
		}
		for _, l := range p.Limits {
			x.Limits = append(x.Limits, diff.LimitChange{l.Queue, kind[l.Kind], l.User, l.Group, values(l.Kind, l.Values)})
		}
		out.Partitions = append(out.Partitions, x)
	}
	for _, x := range c.Classes {
		out.Classes = append(out.Classes, diff.ObjectChange{
			Class: x.Class, Kind: kind[x.Kind], Values: values(x.Kind, x.Values),
		})
	}
	for _, x := range c.Budgets {
		out.Budgets = append(out.Budgets, diff.ObjectChange{
			Budget: x.Budget, Kind: kind[x.Kind], Values: values(x.Kind, x.Values),
		})
	}
	return out
}
