package diff_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// rootHead begins a document with one partition and its root queue; onePartition ends one.
const (
	rootHead     = "partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n"
	onePartition = "\npartitions: [{queues: [{name: root, submitacl: '*'}]}]\n"
)

func mustLoad(t *testing.T, text string) *configs.Config {
	t.Helper()
	c, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, c != nil, problems)
	return c
}

// diffText formats a Change, a line per object: kind, name, and each value as before -> after.
func diffText(c diff.Change) string {
	var b strings.Builder
	values := func(list []diff.ValueChange) {
		for _, v := range list {
			fmt.Fprintf(&b, " | %s: %s -> %s", v.Name, orNone(v.Before), orNone(v.After))
			if v.Inherited {
				b.WriteString(" (inherited)")
			}
		}
		b.WriteString("\n")
	}
	for _, p := range c.Partitions {
		if p.Kind != diff.Changed || len(p.Settings) > 0 {
			fmt.Fprintf(&b, "%s partition %s", p.Kind, p.Partition)
			values(p.Settings)
		}
		for _, q := range p.Queues {
			fmt.Fprintf(&b, "%s %s", q.Kind, q.Queue)
			values(q.Values)
		}
		for _, l := range p.Limits {
			fmt.Fprintf(&b, "%s %s user %q group %q", l.Kind, l.Queue, l.User, l.Group)
			values(l.Values)
		}
	}
	for _, x := range c.Classes {
		fmt.Fprintf(&b, "%s class %s", x.Kind, x.Class)
		values(x.Values)
	}
	for _, x := range c.Budgets {
		fmt.Fprintf(&b, "%s budget %s", x.Kind, x.Budget)
		values(x.Values)
	}
	return b.String()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// changedDocuments are pairs of documents with their difference, as diffText formats it.
func changedDocuments() []struct{ name, old, new, want string } {
	root := func(rest string) string {
		return "partitions: [{queues: [{name: root, submitacl: '*', " + rest + "}]}]"
	}
	below := func(queues string) string { return root("queues: [" + queues + "]") }
	return []struct{ name, old, new, want string }{
		{"only spelling and order", below("{name: A, resources: {max: {vcore: 1, memory: 1Gi}}}, {name: b}"),
			"# a comment\n" + below("{name: b}, {name: a, properties: {priority.offset: 0}, resources: {max: {memory: "+
				"1073741824, vcore: 1000m}}}"), ""},
		{"a queue is created and one removed",
			below("{name: a, queues: [{name: x, limits: [{users: [ann], maxapplications: 1}]}]}"),
			below("{name: b, maxapplications: 5}"),
			"removed root.a\nremoved root.a.x\ncreated root.b | maxapplications: none -> 5 | type: none -> leaf\n" +
				`removed root.a.x user "ann" group "" | maxapplications: 1 -> none` + "\n"},
		{"a leaf becomes a parent", below("{name: a}"), below("{name: a, parent: true}"),
			"changed root.a | type: leaf -> parent\n"},
		{"the max of a parent is effective below",
			below("{name: a, resources: {max: {vcore: 10}}, queues: [{name: x}, {name: y, resources: {max: {vcore: 2}}}]}"),
			below("{name: a, resources: {max: {vcore: 8}}, queues: [{name: x}, {name: y, resources: {max: {vcore: 2}}}]}"),
			"changed root.a | max vcore: 10 -> 8\nchanged root.a.x | max vcore: 10 -> 8 (inherited)\n"},
		{"an own max equal to the effective max", below("{name: a, resources: {max: {vcore: 10}}, queues: [{name: x}]}"),
			below("{name: a, resources: {max: {vcore: 10}}, queues: [{name: x, resources: {max: {vcore: 10}}}]}"),
			"changed root.a.x | max vcore of its own: none -> 10\n"},
		{"a max is removed", below("{name: a, resources: {max: {vcore: 10}, guaranteed: {memory: 1Gi}}}"), below("{name: a}"),
			"changed root.a | guaranteed memory: 1Gi -> none | max vcore: 10 -> none\n"},
		{"access, applications, properties", below("{name: a, submitacl: ' dev'}"),
			below("{name: a, adminacl: ann, maxapplications: 3, properties: {priority.offset: 5, application.sort.policy: " +
				"fair, my.own: x}}"),
			"changed root.a | adminacl: none -> ann | application.sort.policy: none -> fair | maxapplications: none -> 3 | " +
				"my.own: none -> x" +
				" | priority.offset: none -> 5 | submitacl:  dev -> none\n"},
		{"properties are inherited except the offset", below("{name: a, queues: [{name: x}]}"),
			below("{name: a, properties: {preemption.delay: 5s, priority.offset: 7}, queues: [{name: x}]}"),
			"changed root.a | preemption.delay: none -> 5s | priority.offset: none -> 7\nchanged root.a.x | preemption.delay: " +
				"none -> 5s (inherited)\n"},
		{"a child template is compared where it is defined",
			below("{name: a, parent: true, childtemplate: {maxapplications: 2}, queues: [{name: x, parent: true}]}"),
			below("{name: a, parent: true, childtemplate: {properties: {priority.offset: 1}, resources: {max: {vcore: 1}, " +
				"guaranteed: {vcore: 1}}}, queues: [{name: x, parent: true}]}"),
			"changed root.a | childtemplate guaranteed vcore: none -> 1 | childtemplate max vcore: none -> 1 | childtemplate " +
				"maxapplications: 2 -> none" +
				" | childtemplate property priority.offset: none -> 1\n"},
		{"limits are effective",
			root("limits: [{users: [ann], maxapplications: 9}, {users: ['*'], maxresources: {vcore: 5}}], queues: [{name: a, " +
				"limits: [{users: [ann], maxapplications: 9, maxresources: {vcore: 7}}]}]"),
			root("limits: [{users: [ann], maxapplications: 8, maxresources: {vcore: 6}}, {groups: [dev], maxapplications: " +
				"2}], queues: [{name: a, limits: [{users: [ann], maxapplications: 8, maxresources: {vcore: 6}}]}]"),
			`removed root user "*" group "" | maxresources vcore: 5 -> none` + "\n" +
				`changed root user "ann" group "" | maxapplications: 9 -> 8 | maxresources vcore: none -> 6` + "\n" +
				`created root user "" group "dev" | maxapplications: none -> 2` + "\n" +
				`changed root.a user "ann" group "" | maxapplications: 9 -> 8 | maxresources vcore: 7 -> 6` + "\n"},
		{"a limit of a queue above changes",
			root("limits: [{users: [ann], maxresources: {gpu: 9}, maxapplications: 0}], queues: [{name: a, limits: [{users: " +
				"[ann], maxresources: {vcore: 7}}]}]"),
			root("limits: [{users: [ann], maxresources: {gpu: 8}}], queues: [{name: a, limits: [{users: [ann], maxresources: " +
				"{vcore: 7}}]}]"),
			`changed root user "ann" group "" | maxresources gpu: 9 -> 8` + "\n" +
				`changed root.a user "ann" group "" | maxresources gpu: 9 -> 8 (inherited)` + "\n"},
		{"a limit takes the place of a wildcard",
			root("limits: [{users: ['*'], maxapplications: 2, maxresources: {vcore: 3}}]"),
			root("limits: [{users: [ann], maxapplications: 2, maxresources: {vcore: 8}}, {users: ['*'], maxapplications: 2, " +
				"maxresources: {vcore: 3}}]"),
			`changed root user "ann" group "" | maxapplications: 2 -> 2 | maxresources vcore: 3 -> 8` + "\n"},
		{"of two users with the same values one had no limit of its own",
			root("limits: [{users: [ann, '*'], maxapplications: 5, maxresources: {vcore: 1}}]"),
			root("limits: [{users: [ann, bob], maxapplications: 4, maxresources: {vcore: 1}}, {users: ['*'], maxapplications: " +
				"5, maxresources: {vcore: 1}}]"),
			`changed root user "ann" group "" | maxapplications: 5 -> 4` + "\n" +
				`changed root user "bob" group "" | maxapplications: 5 -> 4 | maxresources vcore: 1 -> 1` + "\n"},
		{"of two users with the same values one inherits them",
			root("limits: [{users: [ann, bob], maxresources: {vcore: 5}}], queues: [{name: a, limits: [{users: [ann], " +
				"maxapplications: 3}, {users: [bob], maxapplications: 3, maxresources: {vcore: 5}}]}]"),
			root("limits: [{users: [ann, bob], maxresources: {vcore: 4}}], queues: [{name: a, limits: [{users: [ann], " +
				"maxapplications: 3}, {users: [bob], maxapplications: 3, maxresources: {vcore: 4}}]}]"),
			`changed root user "ann" group "" | maxresources vcore: 5 -> 4` + "\n" +
				`changed root user "bob" group "" | maxresources vcore: 5 -> 4` + "\n" +
				`changed root.a user "ann" group "" | maxresources vcore: 5 -> 4 (inherited)` + "\n" +
				`changed root.a user "bob" group "" | maxresources vcore: 5 -> 4` + "\n"},
		{"a limit below another one", root("limits: [{users: [ann], maxapplications: 5}], queues: [{name: a}]"),
			root("limits: [{users: [ann], maxapplications: 5}], queues: [{name: a, limits: [{users: [ann], maxapplications: " +
				"3}, {groups: [dev], maxapplications: 1}]}]"),
			`changed root.a user "ann" group "" | maxapplications: 5 -> 3` + "\n" +
				`created root.a user "" group "dev" | maxapplications: none -> 1` + "\n"},
		{"the order of groups decides", root("limits: [{groups: [a, b], maxapplications: 1}]"),
			root("limits: [{groups: [b, a], maxapplications: 1}]"),
			"changed root | order of groups in limits: a, b -> b, a\n"},
		{"settings of a partition",
			"partitions: [{queues: [], placementrules: [{name: provided}, {name: fixed, value: root.x, create: true}]}]",
			"partitions: [{queues: [], preemption: {enabled: false, nominationtimeout: 0s}, reservation: {delay: 5s, " +
				"nodepercent: 100}, nodesortpolicy: {type: binpacking, resourceweights: {gpu: 2}}, usergroupresolver: {type: os}," +
				" placementrules: [{name: user, create: true, filter: {type: deny, users: [ann, bob], groups: ['^x']}, parent: " +
				"{name: tag, value: t}}]}]",
			"changed partition default | nodesortpolicy: fair -> binpacking | nominationtimeout: 5m0s -> 0s" +
				" | placementrules[0]: provided -> user, may create, not for users ann, bob and groups matching ^x, below (tag t)" +
				" | placementrules[1]: fixed root.x, may create -> none | preemption: true -> false" +
				" | reservation delay: 2s -> 5s | reservation nodepercent: 5 -> 100" +
				" | resourceweights gpu: none -> 2 | resourceweights memory: 1 -> none | resourceweights vcore: 1 -> none | " +
				"usergroupresolver: none -> os\n"},
		{"a partition is created and one removed", "partitions: [{name: cpu, queues: []}]",
			"partitions: [{name: gpu, queues: []}]",
			"removed partition cpu\nremoved root\ncreated partition gpu | churnbreaker: none -> true | churncooldown: none -> " +
				"5m0s | churncycles: none -> 10 | churnwindow: none -> 30m0s | nodepressure: none -> false | nodepressuregrace: " +
				"none -> 1m0s | noderefusal asks: none -> 3 | noderefusal backoff: none -> 10s | noderefusal maxbackoff: none -> " +
				"5m0s | nodesortpolicy: none -> fair | nominationtimeout: none -> 5m0s | preemption: none -> true | priority: " +
				"none -> enabled | quotapreemption: none -> false" +
				" | reservation: none -> true | reservation backfill: none -> off | " +
				"reservation backfillasks: none -> 64 | reservation backfillnodes: none -> 64 | " +
				"reservation delay: none -> 2s | reservation nodepercent: none -> 5 | reservation " +
				"timeout: none -> 1h0m0s" +
				" | resourceweights memory: none -> 1 | resourceweights vcore: none -> 1\ncreated root | type: none -> parent\n"},
	}
}

func TestDiff_Changes(t *testing.T) {
	for _, c := range changedDocuments() {
		t.Run(c.name, func(t *testing.T) {
			old, problems := queuesyaml.Load([]byte(c.old))
			assert.Assert(t, old != nil, problems)
			new, problems := queuesyaml.Load([]byte(c.new))
			assert.Assert(t, new != nil, problems)
			got := diff.Compare(old, new)
			assert.Equal(t, diffText(got), c.want)
			assert.Equal(t, got.IsEmpty(), c.want == "")
			assert.Assert(t, diff.Compare(old, old).IsEmpty())
			assert.Equal(t, diff.Compare(new, old).IsEmpty(), c.want == "", "the reverse Change is empty too")

			text, err := json.Marshal(got)
			assert.NilError(t, err)
			var decoded diff.Change
			assert.NilError(t, json.Unmarshal(text, &decoded))
			assert.DeepEqual(t, decoded, got)
		})
	}
}

func TestDiff_NilConfig(t *testing.T) {
	c := mustLoad(t, string(queuesyaml.Default()))
	assert.Equal(t, diff.Compare(nil, c).Summary(), "1 partition created, 1 queue created")
	assert.Equal(t, diff.Compare(c, nil).Summary(), "1 partition removed, 1 queue removed")
	assert.Assert(t, diff.Compare(nil, nil).IsEmpty())
	text, err := json.Marshal(diff.Compare(nil, nil))
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"partitions":[]}`)
}

func TestChange_Summary(t *testing.T) {
	old := mustLoad(t,
		rootHead+"    limits: [{users: [ann], maxapplications: 5}]\n    queues: [{name: a}, {name: b}, {name: c}]\n")
	new := mustLoad(t,
		rootHead+"    limits: [{users: [ann], maxapplications: 4}]\n    queues: [{name: a, maxapplications: 5}, {name: x}, "+
			"{name: y}]\n")
	assert.Equal(t, diff.Compare(old, new).Summary(),
		"2 queues created, 2 queues removed, 1 queue changed, 1 limit changed")
	assert.Equal(t, diff.Compare(old, old).Summary(), "nothing changes")
}

// FuzzDiff checks that a configuration has an empty Change to itself, and that the Change between two
// configurations is empty if and only if the reverse one is.
func FuzzDiff(f *testing.F) {
	for _, name := range []string{"production.yaml", "everything-wrong.yaml"} {
		text, err := os.ReadFile("../queuesyaml/testdata/" + name)
		assert.NilError(f, err)
		f.Add(text, queuesyaml.Default())
	}
	for _, c := range changedDocuments() {
		f.Add([]byte(c.old), []byte(c.new))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		old, _ := queuesyaml.Load(a)
		new, _ := queuesyaml.Load(b)
		assert.Assert(t, diff.Compare(old, old).IsEmpty())
		forward, reverse := diff.Compare(old, new), diff.Compare(new, old)
		assert.DeepEqual(t, diff.Compare(old, new), forward)
		created, _ := forward.Count(diff.Created)
		removed, _ := reverse.Count(diff.Removed)
		assert.Equal(t, created, removed)
		assert.Equal(t, forward.IsEmpty(), reverse.IsEmpty())
	})
}

// A Change writes quantities as each document does, and equal amounts are no change (CFG-44).
func TestDiff_KeepsQuantitySpelling(t *testing.T) {
	load := func(max, template string) *configs.Config {
		return mustLoad(t,
			rootHead+"    queues: [{name: a, parent: true, childtemplate: {resources: {guaranteed: {memory: "+template+
				"}}}, resources: {max: {memory: "+max+"}}, queues: [{name: x}]}]\n")
	}
	assert.Equal(t, diffText(diff.Compare(load("500G", "8192Mi"), load("1024 Gi", "8Gi"))),
		"changed root.a | max memory: 500G -> 1024Gi\nchanged root.a.x | max memory: 500G -> 1024Gi (inherited)\n")
	assert.Equal(t, diffText(diff.Compare(load("8192Mi", "8192Mi"), load("8Gi", "010Gi"))),
		"changed root.a | childtemplate guaranteed memory: 8192Mi -> 10Gi\n")
	both := mustLoad(t,
		rootHead+"    queues: [{name: a, resources: {max: {memory: 8192Mi}}}, {name: b, resources: {max: {memory: 8Gi}}}]\n")
	assert.Equal(t, both.FormatQuantity("memory", 8<<30), "8Gi", "a quantity with two spellings has the shortest form")
	assert.Equal(t, both.FormatQuantity("memory", 1000<<20), "1000Mi")
	assert.Equal(t, (*configs.Config)(nil).FormatQuantity("memory", 500e9), "500G")
}
