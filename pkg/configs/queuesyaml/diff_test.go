package queuesyaml

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// diffText formats a Change, a line per object: kind, name, and each value as before -> after.
func diffText(c Change) string {
	var b strings.Builder
	values := func(list []ValueChange) {
		for _, v := range list {
			fmt.Fprintf(&b, " | %s: %s -> %s", v.Name, orNone(v.Before), orNone(v.After))
			if v.Inherited {
				b.WriteString(" (inherited)")
			}
		}
		b.WriteString("\n")
	}
	for _, p := range c.Partitions {
		if p.Kind != Changed || len(p.Settings) > 0 {
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

func TestDiff_Changes(t *testing.T) {
	root := func(rest string) string {
		return "partitions: [{queues: [{name: root, submitacl: '*', " + rest + "}]}]"
	}
	below := func(queues string) string { return root("queues: [" + queues + "]") }
	for _, c := range []struct{ name, old, new, want string }{
		{"only spelling and order", below("{name: A, resources: {max: {vcore: 1, memory: 1Gi}}}, {name: b}"),
			"# a comment\n" + below("{name: b}, {name: a, properties: {priority.offset: 0}, resources: {max: {memory: 1073741824, vcore: 1000m}}}"), ""},
		{"a queue is created and one removed", below("{name: a, queues: [{name: x, limits: [{users: [ann], maxapplications: 1}]}]}"), below("{name: b, maxapplications: 5}"),
			"removed root.a\nremoved root.a.x\ncreated root.b | maxapplications: none -> 5 | type: none -> leaf\n" +
				`removed root.a.x user "ann" group "" | maxapplications: 1 -> none` + "\n"},
		{"a leaf becomes a parent", below("{name: a}"), below("{name: a, parent: true}"), "changed root.a | type: leaf -> parent\n"},
		{"the max of a parent is effective below", below("{name: a, resources: {max: {vcore: 10}}, queues: [{name: x}, {name: y, resources: {max: {vcore: 2}}}]}"),
			below("{name: a, resources: {max: {vcore: 8}}, queues: [{name: x}, {name: y, resources: {max: {vcore: 2}}}]}"),
			"changed root.a | max vcore: 10 -> 8\nchanged root.a.x | max vcore: 10 -> 8 (inherited)\n"},
		{"an own max equal to the effective max", below("{name: a, resources: {max: {vcore: 10}}, queues: [{name: x}]}"),
			below("{name: a, resources: {max: {vcore: 10}}, queues: [{name: x, resources: {max: {vcore: 10}}}]}"),
			"changed root.a.x | max vcore of its own: none -> 10\n"},
		{"a max is removed", below("{name: a, resources: {max: {vcore: 10}, guaranteed: {memory: 1Gi}}}"), below("{name: a}"),
			"changed root.a | guaranteed memory: 1Gi -> none | max vcore: 10 -> none\n"},
		{"access, applications, properties", below("{name: a, submitacl: ' dev'}"),
			below("{name: a, adminacl: ann, maxapplications: 3, properties: {priority.offset: 5, application.sort.policy: fair, my.own: x}}"),
			"changed root.a | adminacl: none -> ann | application.sort.policy: none -> fair | maxapplications: none -> 3 | my.own: none -> x" +
				" | priority.offset: none -> 5 | submitacl:  dev -> none\n"},
		{"properties are inherited except the offset", below("{name: a, queues: [{name: x}]}"),
			below("{name: a, properties: {preemption.delay: 5s, priority.offset: 7}, queues: [{name: x}]}"),
			"changed root.a | preemption.delay: none -> 5s | priority.offset: none -> 7\nchanged root.a.x | preemption.delay: none -> 5s (inherited)\n"},
		{"a child template is compared where it is defined", below("{name: a, parent: true, childtemplate: {maxapplications: 2}, queues: [{name: x, parent: true}]}"),
			below("{name: a, parent: true, childtemplate: {properties: {priority.offset: 1}, resources: {max: {vcore: 1}, guaranteed: {vcore: 1}}}, queues: [{name: x, parent: true}]}"),
			"changed root.a | childtemplate guaranteed vcore: none -> 1 | childtemplate max vcore: none -> 1 | childtemplate maxapplications: 2 -> none" +
				" | childtemplate property priority.offset: none -> 1\n"},
		{"limits are effective", root("limits: [{users: [ann], maxapplications: 9}, {users: ['*'], maxresources: {vcore: 5}}], queues: [{name: a, limits: [{users: [ann], maxapplications: 9, maxresources: {vcore: 7}}]}]"),
			root("limits: [{users: [ann], maxapplications: 8, maxresources: {vcore: 6}}, {groups: [dev], maxapplications: 2}], queues: [{name: a, limits: [{users: [ann], maxapplications: 8, maxresources: {vcore: 6}}]}]"),
			`removed root user "*" group "" | maxresources vcore: 5 -> none` + "\n" +
				`changed root user "ann" group "" | maxapplications: 9 -> 8 | maxresources vcore: none -> 6` + "\n" +
				`created root user "" group "dev" | maxapplications: none -> 2` + "\n" +
				`changed root.a user "ann" group "" | maxapplications: 9 -> 8 | maxresources vcore: 7 -> 6` + "\n"},
		{"a limit of a queue above changes", root("limits: [{users: [ann], maxresources: {gpu: 9}, maxapplications: 0}], queues: [{name: a, limits: [{users: [ann], maxresources: {vcore: 7}}]}]"),
			root("limits: [{users: [ann], maxresources: {gpu: 8}}], queues: [{name: a, limits: [{users: [ann], maxresources: {vcore: 7}}]}]"),
			`changed root user "ann" group "" | maxresources gpu: 9 -> 8` + "\n" + `changed root.a user "ann" group "" | maxresources gpu: 9 -> 8 (inherited)` + "\n"},
		{"the order of groups decides", root("limits: [{groups: [a, b], maxapplications: 1}]"), root("limits: [{groups: [b, a], maxapplications: 1}]"),
			"changed root | order of groups in limits: a, b -> b, a\n"},
		{"settings of a partition", "partitions: [{queues: [], placementrules: [{name: provided}, {name: fixed, value: root.x, create: true}]}]",
			"partitions: [{queues: [], preemption: {enabled: false, nominationtimeout: 0s}, nodesortpolicy: {type: binpacking, resourceweights: {gpu: 2}}, usergroupresolver: {type: os}," +
				" placementrules: [{name: user, create: true, filter: {type: deny, users: [ann, bob], groups: ['^x']}, parent: {name: tag, value: t}}]}]",
			"changed partition default | nodesortpolicy: fair -> binpacking | nominationtimeout: 5m0s -> 0s" +
				" | placementrules[0]: provided -> user, may create, not for users ann, bob and groups matching ^x, below (tag t)" +
				" | placementrules[1]: fixed root.x, may create -> none | preemption: true -> false" +
				" | resourceweights gpu: none -> 2 | resourceweights memory: 1 -> none | resourceweights vcore: 1 -> none | usergroupresolver: none -> os\n"},
		{"a partition is created and one removed", "partitions: [{name: cpu, queues: []}]", "partitions: [{name: gpu, queues: []}]",
			"removed partition cpu\nremoved root\ncreated partition gpu | churnbreaker: none -> true | churncooldown: none -> 5m0s | churncycles: none -> 10 | churnwindow: none -> 30m0s | nodepressure: none -> false | nodesortpolicy: none -> fair | nominationtimeout: none -> 5m0s | preemption: none -> true | priority: none -> enabled | quotapreemption: none -> false" +
				" | resourceweights memory: none -> 1 | resourceweights vcore: none -> 1\ncreated root | type: none -> parent\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, problems := Load([]byte(c.old))
			assert.Assert(t, old != nil, problems)
			new, problems := Load([]byte(c.new))
			assert.Assert(t, new != nil, problems)
			got := Diff(old, new)
			assert.Equal(t, diffText(got), c.want)
			assert.Equal(t, got.IsEmpty(), c.want == "")
			assert.Assert(t, Diff(old, old).IsEmpty())
			assert.Equal(t, Diff(new, old).IsEmpty(), c.want == "", "the reverse Diff is empty too")

			text, err := json.Marshal(got)
			assert.NilError(t, err)
			var decoded Change
			assert.NilError(t, json.Unmarshal(text, &decoded))
			assert.DeepEqual(t, decoded, got)
		})
	}
}

func TestDiff_NilConfig(t *testing.T) {
	c := mustLoad(t, string(Default()))
	assert.Equal(t, Diff(nil, c).Summary(), "1 partition created, 1 queue created")
	assert.Equal(t, Diff(c, nil).Summary(), "1 partition removed, 1 queue removed")
	assert.Assert(t, Diff(nil, nil).IsEmpty())
	text, err := json.Marshal(Diff(nil, nil))
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"partitions":[]}`)
}

func TestChange_Summary(t *testing.T) {
	old := mustLoad(t, rootHead+"    limits: [{users: [ann], maxapplications: 5}]\n    queues: [{name: a}, {name: b}, {name: c}]\n")
	new := mustLoad(t, rootHead+"    limits: [{users: [ann], maxapplications: 4}]\n    queues: [{name: a, maxapplications: 5}, {name: x}, {name: y}]\n")
	assert.Equal(t, Diff(old, new).Summary(), "2 queues created, 2 queues removed, 1 queue changed, 1 limit changed")
	assert.Equal(t, Diff(old, old).Summary(), "nothing changes")
}

func TestDiff_EffectiveLimits(t *testing.T) {
	c := mustLoad(t, rootHead+`    limits: [{users: [ann, '*'], maxapplications: 5}, {groups: [dev], maxresources: {vcore: 9}}]
    queues:
    - name: a
      limits: [{users: [bob], maxapplications: 4, maxresources: {vcore: 3}}, {groups: [dev, '*'], maxapplications: 2}]
`)
	root := &c.Partitions[0].Root
	a := &root.Children[0]
	up := &diffQueue{q: root, limits: limitsByHolderOf(root.Limits)}
	s := &diffQueue{q: a, parent: up, limits: limitsByHolderOf(a.Limits)}
	path := limits.Path{a.Limits, root.Limits}
	for _, name := range []string{"ann", "bob", "eve", "dev", "*"} {
		user, _, _ := s.effectiveBound(limitKey{false, name})
		assert.Assert(t, user.Equal(path.UserBound(name)), "user %s: %v", name, user)
		group, _, _ := s.effectiveBound(limitKey{true, name})
		assert.Assert(t, group.Equal(path.GroupBound(name)), "group %s: %v", name, group)
	}
}

// FuzzDiff checks that a configuration has an empty Diff with itself, and that the Diff of two
// configurations is empty if and only if the reverse one is.
func FuzzDiff(f *testing.F) {
	text, err := os.ReadFile("testdata/production.yaml")
	assert.NilError(f, err)
	f.Add(text, Default())
	for _, c := range allBadDocuments() {
		text, _ := parseMarks(c.text)
		f.Add([]byte(text), Default())
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		old, _ := Load(a)
		new, _ := Load(b)
		assert.Assert(t, Diff(old, old).IsEmpty())
		forward, reverse := Diff(old, new), Diff(new, old)
		assert.DeepEqual(t, Diff(old, new), forward)
		created, _ := forward.Count(Created)
		removed, _ := reverse.Count(Removed)
		assert.Equal(t, created, removed)
		assert.Equal(t, forward.IsEmpty(), reverse.IsEmpty())
	})
}

func BenchmarkDiff(b *testing.B) {
	for _, queues := range []int{10_000, 99_999} {
		for _, levels := range []int{1, 60} {
			b.Run(fmt.Sprintf("queues=%d/levels=%d", queues, levels), func(b *testing.B) {
				text := manyQueues(queues, levels)
				old, _ := LoadWith(text, Options{MaxBytes: 1 << 30})
				new, _ := LoadWith([]byte(strings.ReplaceAll(string(text), "vcore: 10", "vcore: 11")), Options{MaxBytes: 1 << 30})
				for b.Loop() {
					assert.Assert(b, !Diff(old, new).IsEmpty())
				}
			})
		}
	}
}

// A Diff writes quantities as each document does, and equal amounts are no change (CFG-44).
func TestDiff_KeepsQuantitySpelling(t *testing.T) {
	load := func(max, template string) *configs.Config {
		return mustLoad(t, rootHead+"    queues: [{name: a, parent: true, childtemplate: {resources: {guaranteed: {memory: "+template+"}}}, resources: {max: {memory: "+max+"}}, queues: [{name: x}]}]\n")
	}
	assert.Equal(t, diffText(Diff(load("500G", "8192Mi"), load("1024 Gi", "8Gi"))), "changed root.a | max memory: 500G -> 1024Gi\nchanged root.a.x | max memory: 500G -> 1024Gi (inherited)\n")
	assert.Equal(t, diffText(Diff(load("8192Mi", "8192Mi"), load("8Gi", "010Gi"))), "changed root.a | childtemplate guaranteed memory: 8192Mi -> 10Gi\n")
	both := mustLoad(t, rootHead+"    queues: [{name: a, resources: {max: {memory: 8192Mi}}}, {name: b, resources: {max: {memory: 8Gi}}}]\n")
	assert.Equal(t, both.FormatQuantity("memory", 8<<30), "8Gi", "a quantity with two spellings has the shortest form")
	assert.Equal(t, both.FormatQuantity("memory", 1000<<20), "1000Mi")
	assert.Equal(t, (*configs.Config)(nil).FormatQuantity("memory", 500e9), "500G")
}
