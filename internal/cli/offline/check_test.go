package offline

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const checkedYAML = `
partitions:
- name: default
  placementrules: [{name: provided, create: true}]
  limits: [{users: [ann], maxresources: {vcore: 9}}, {users: ['*'], maxapplications: 7}]
  queues:
  - name: root
    submitacl: '*'
    maxapplications: 50
    classquotas: [{name: none, match: {operator: DoesNotExist}, hard: {pods: 0}}]
    queues:
    - name: a
      maxapplications: 20
      properties: {priority.offset: "10"}
      resources: {max: {vcore: 40, gpu: 8}, guaranteed: {vcore: 20}}
      limits: [{groups: [ops], maxapplications: 3}, {groups: [dev], maxresources: {vcore: 2}}]
      queues:
      - {name: x, maxapplications: 20, resources: {max: {vcore: 50m}}}
      - {name: y, maxapplications: 5, resources: {guaranteed: {vcore: 10}}}
    - name: f
      maxapplications: 50
      properties: {priority.policy: fence, priority.offset: "12"}
      resources: {guaranteed: {vcore: 20}}
    - name: plain
      maxapplications: 50
      properties: {application.sort.priority: disabled}
      queues:
      - {name: l, maxapplications: 50}
      - {name: r, maxapplications: 50}
- name: gpu
  reservation: {backfill: bounded, timeout: 10m}
  fairness: {weights: {vcore: 1, gpu: 20}}
  classesneedingquota: [{operator: DoesNotExist}]
  queues: [{name: root, submitacl: '*', queues: [{name: a, resources: {max: {gpu: 2}}}]}]
- name: percent
  placementrules: [{name: provided, create: true}]
  queues:
  - name: root
    submitacl: '*'
    queues:
    - name: a
      resources: {max: {vcore: 50%}, guaranteed: {vcore: 25%}}
      queues: [{name: x, resources: {max: {vcore: 10%}}}]
    - {name: p, parent: true, childtemplate: {resources: {max: {vcore: 12.5%}}}}
    - name: b
      properties: {runtime.enforce: "true", runtime.default: 90m}
      queues: [{name: x, properties: {runtime.default: 2h}}]
`

func TestCheck_Assertions(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(checkedYAML))
	assert.Assert(t, conf != nil, problems)
	cases := []struct {
		name, text string
		want       string // the differences; empty: none
	}{
		{"QUO-1: the effective max is the smallest on the path",
			"{queue: root.a.x, expect: {max: {vcore: 50m, gpu: 8, memory: unlimited}}}", ""},
		{"QUO-4: the effective max is within the cluster",
			"{queue: root.a, cluster: {vcore: 30, gpu: 100}, expect: {max: {vcore: 30, gpu: 8}}}", ""},
		{"QUO-4: the max of a resource that no node has is zero",
			"{queue: root.a, cluster: {vcore: 30}, expect: {max: {gpu: 0, memory: 0}}}", ""},
		{"QUO-4: the max of root is the cluster", "{queue: root, cluster: {vcore: 30}, expect: {max: {vcore: 30}}}", ""},
		{"QUO-1: a difference names path, resource and both values",
			"{queue: root.a, expect: {max: {vcore: 41, gpu: unlimited}}}",
			"root.a max gpu: expected unlimited, actual 8 | root.a max vcore: expected 41, actual 40"},
		{"properties are inherited, and compared by their effect",
			"{partition: percent, queue: root.b.x, expect: {properties: {runtime.enforce: 'true', runtime.default: 120m, " +
				"runtime.grace: 30s}}}", ""},
		{"properties differ", "{partition: percent, queue: root.b, expect: {properties: {runtime.enforce: 'false', " +
			"runtime.grace: 1m, runtime.default: 1h}}}", "root.b runtime.default: expected 1h, actual 90m | " +
			"root.b runtime.enforce: expected false, actual true | root.b runtime.grace: expected 1m, actual 30s"},
		{"a guarantee is the queue's own", "{queue: root.a.y, expect: {guaranteed: {vcore: 10, memory: 0}}}", ""},
		{"a guarantee is within the cluster", "{queue: root.a, cluster: {vcore: 7}, expect: {guaranteed: {vcore: 20}}}",
			"root.a guaranteed vcore: expected 20, actual 7"},
		{"QUO-26: max applications is the smallest on the path", "{queue: root.a.x, expect: {maxapplications: 20}}", ""},
		{"a queue that does not exist", "{queue: root.b, expect: {maxapplications: 20}}",
			"queue root.b: expected a result, actual there is no queue root.b; use place for a queue that a rule would create"},
		{"another partition", "{partition: GPU, queue: root.a, expect: {max: {gpu: 3}}}",
			"root.a max gpu: expected 3, actual 2"},
		{"QUO-63: percents are of the cluster", "{partition: percent, queue: root.a, cluster: {vcore: 64}, expect: " +
			"{max: {vcore: 32}, guaranteed: {vcore: 16}}}", ""},
		{"QUO-63: a percent of the queue above", "{partition: percent, queue: root.a.x, cluster: {vcore: 100}, expect: " +
			"{max: {vcore: 5}}}", ""},
		{"QUO-63: without nodes a percent is zero", "{partition: percent, queue: root.a, expect: {max: {vcore: 1}}}",
			"root.a max vcore: expected 1, actual 0"},
		{"QUO-63: a percent of a child template", "{partition: percent, place: {user: ann, queue: root.p.new}, " +
			"cluster: {vcore: 16}, expect: {created: true, max: {vcore: 2}}}", ""},

		{"CFG-23: settings of a partition, and defaults", "{partition: gpu, settings: reservation, " +
			"expect: {backfill: Bounded, timeout: 600s, enabled: true, backfillasks: 64}}", ""},
		{"CFG-23: weights", "{partition: gpu, settings: fairness, expect: {weights: {gpu: 20, vcore: 2}}}",
			"fairness weights: expected gpu: 20, vcore: 2, actual gpu: 20, vcore: 1"},
		{"CFG-23: other settings", "{settings: reservation, expect: {backfill: bounded, timeout: 10m, enabled: false}}",
			"reservation backfill: expected bounded, actual off | reservation timeout: expected 10m0s, actual 1h0m0s | " +
				"reservation enabled: expected false, actual true"},

		{"PLC-1: a placement",
			"{place: {user: ann, queue: root.a.x}, expect: {queue: root.a.x, rule: provided, created: false, maxapplications: " +
				"20}}", ""},
		{"PLC-1: another queue", "{place: {user: ann, queue: root.a.x}, expect: {queue: root.f, rule: user, created: true}}",
			"queue: expected root.f, actual root.a.x | root.a.x rule: expected user, actual provided | root.a.x created: " +
				"expected true, actual false"},
		{"PLC-1: no rejection", "{place: {user: ann, queue: root.a.x}, expect: {rejected: access}}",
			"placement: expected rejected, actual root.a.x by provided"},
		{"PLC-1: another reason", "{place: {user: ann}, expect: {rejected: access}}",
			`reason: expected a reason with "access", actual no placement rule matched: rule provided: the application names ` +
				`no queue`},
		{"PLC-8: an unexpected rejection", "{place: {user: ann, queue: root.f.x}, expect: {queue: root.f.x}}",
			"placement: expected a queue, actual rejected: queue root.f.x cannot be created: root.f is a leaf"},

		{"LIM-2: a named user",
			"{limit: {queue: root.a.x, user: ann}, expect: {maxresources: {vcore: 9}, maxapplications: 0, group: ''}}", ""},
		{"LIM-2: the wildcard",
			"{limit: {queue: root.f, user: eve}, expect: {maxresources: {vcore: unlimited}, maxapplications: 7}}", ""},
		{"LIM-6: the first configured group, from the leaf up",
			"{limit: {queue: root.a.new, user: ann, groups: [dev, ops]}, expect: {group: ops, maxapplications: 3, " +
				"maxresources: {vcore: 9}}}", ""},
		{"LIM-11: the minimum of user and group",
			"{limit: {queue: root.a, user: ann, groups: [dev]}, expect: {maxresources: {vcore: 9}}}",
			"root.a user ann maxresources vcore: expected 9, actual 2"},
		{"LIM-5: a group is a pool",
			"{limit: {queue: root.a.x, group: dev}, expect: {maxresources: {vcore: 2, gpu: unlimited}, maxapplications: 0}}",
			""},
		{"LIM-34: a group without a limit", "{limit: {queue: root.f, group: dev}, expect: {maxresources: {vcore: 2}}}",
			"root.f group dev maxresources vcore: expected 2, actual unlimited"},

		{"PRI-9: offset and fence",
			"{work: [{queue: root.a.x, priority: 5, pending: {vcore: 1}}, " +
				"{queue: root.f, priority: 900, pending: {vcore: 1}}], " +
				"expect: {priorities: {root.a.x: 5, root.a: 15, root.f: 12, root.plain: none}, order: [root.a, root.f]}}", ""},
		{"PRI-9: differences of priorities",
			"{work: [{queue: root.a.x, priority: 5, pending: {vcore: 1}}], expect: {priorities: {root.a: 5, root.f: 12}}}",
			"root.a priority: expected 5, actual 15 | root.f priority: expected 12, actual none"},
		{"ORD-14: at equal priority the smaller fair share goes first",
			"{cluster: {vcore: 100}, work: [{queue: root.a.x, priority: 2, used: {vcore: 15}, pending: {vcore: 1}}, " +
				"{queue: root.f, used: {vcore: 10}, pending: {vcore: 1}}], expect: {order: [root.f, root.a.x]}}", ""},
		{"ORD-14: a difference of the order",
			"{cluster: {vcore: 100}, work: [{queue: root.a.x, priority: 2, used: {vcore: 15}, pending: {vcore: 1}}, " +
				"{queue: root.f, used: {vcore: 10}, pending: {vcore: 1}}], expect: {order: [root.a.x, root.f]}}",
			"order below root: expected root.a.x (priority 12, share 0.75) before root.f (priority 12, share 0.5), actual " +
				"root.f first"},
		{"ORD-14: with priority disabled the fair share decides",
			"{cluster: {vcore: 100}, work: [{queue: root.plain.l, priority: 9, used: {vcore: 2}, pending: {vcore: 1}}, " +
				"{queue: root.plain.r, used: {vcore: 1}, pending: {vcore: 1}}], expect: {order: [root.plain.r, root.plain.l]}}",
			""},
		{"a queue without pending asks is not sorted",
			"{work: [{queue: root.a.x, used: {vcore: 1}}, {queue: root.f, pending: {vcore: 1}}], expect: {order: [root.a, " +
				"root.f]}}",
			"work in root.a.x, root.f: expected a result, actual root.a has nothing pending, so it is not sorted"},
		{"work in a parent", "{work: [{queue: root.a, pending: {vcore: 1}}], expect: {priorities: {root.a: 1}}}",
			"work in root.a: expected a result, actual root.a: queue root.a is not a leaf queue"},
		{"work in a queue that a rule would create",
			"{work: [{queue: root.new.q, user: u, priority: 3, pending: {vcore: 1}}], expect: {priorities: {root.new: 3}}}", ""},
	}
	var text strings.Builder
	text.WriteString("assertions:\n")
	for _, c := range cases {
		text.WriteString("- " + c.text + "\n")
	}
	all, mistakes := ReadAssertions([]byte(text.String()))
	assert.Equal(t, len(mistakes), 0, "%v", mistakes)
	results, err := Check(conf, all)
	assert.NilError(t, err)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range results[i].Differences {
				got = append(got, d.String())
			}
			assert.Equal(t, strings.Join(got, " | "), c.want)
			assert.Equal(t, results[i].OK, c.want == "")
			assert.Equal(t, results[i].Line, i+2)

			alone, err := Check(conf, Assertions{List: all.List[i : i+1]})
			assert.NilError(t, err)
			assert.DeepEqual(t, alone[0], results[i]) // earlier assertions do not affect the result
		})
	}
	w := newTestPartition(t, checkedYAML, "default")
	for i := range all.List {
		w.check(&all.List[i])
		assert.NilError(t, w.partition.Check())
	}
	assert.DeepEqual(t, len(w.partition.Root().Children()), 3)
	assert.NilError(t, w.withCluster(nil, func() error { return nil }))
	_, asks, allocations := w.partition.Counts()
	assert.Equal(t, asks+allocations+len(w.partition.Nodes()), 0)
}

func TestCheck_UnknownPartition(t *testing.T) {
	conf, _ := queuesyaml.Load([]byte(checkedYAML))
	all, mistakes := ReadAssertions([]byte("partition: cpu\nassertions:\n- {queue: root, expect: {maxapplications: 1}}"))
	assert.Equal(t, len(mistakes), 0)
	_, err := Check(conf, all)
	assert.Error(t, err, `line 3: there is no partition "cpu": the configuration has default, gpu, percent`)
}

// BenchmarkCheck checks a thousand assertions about a tree of 10,000 queues: queue, place and work in turn.
func BenchmarkCheck(b *testing.B) {
	var text, asked strings.Builder
	text.WriteString("partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues:\n")
	for i := range 100 {
		fmt.Fprintf(&text, "    - name: t%d\n      queues:\n", i)
		for j := range 99 {
			fmt.Fprintf(&text, "      - {name: q%d, resources: {max: {vcore: 10}}, properties: {priority.offset: %d}}\n", j, j)
		}
	}
	conf, problems := queuesyaml.Load([]byte(text.String()))
	assert.Assert(b, conf != nil, problems)
	asked.WriteString("cluster: {vcore: 1000}\nassertions:\n")
	for i := range 333 {
		q, r := fmt.Sprintf("root.t%d.q%d", i%100, i%99), fmt.Sprintf("root.t%d.q%d", (i+1)%100, i%99)
		fmt.Fprintf(&asked, "- {queue: %s, expect: {max: {vcore: 10}}}\n", q)
		fmt.Fprintf(&asked, "- {place: {user: ann, queue: %s}, expect: {queue: %s, max: {vcore: 10}}}\n", q, q)
		fmt.Fprintf(&asked,
			"- {work: [{queue: %s, priority: 2, pending: {vcore: 1}}, {queue: %s, pending: {vcore: 1}}], expect: {order: [%s, "+
				"%s]}}\n", q, r, q, r)
	}
	all, mistakes := ReadAssertions([]byte(asked.String()))
	assert.Equal(b, len(mistakes), 0, "%v", mistakes)
	for b.Loop() {
		results, err := Check(conf, all)
		assert.NilError(b, err)
		for _, r := range results {
			assert.Assert(b, r.OK, "%v", r)
		}
	}
}
