package offline

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// What is said about paths, and about expectations that name nothing.
const (
	legalPath = " (hint: names of 1 to 64 letters, digits or any of _ : # / @ -, with a dot between each two)"
	limitHint = " (hint: name a resource, and what it must be limited to)"
)

func TestReadAssertions_MistakePositions(t *testing.T) {
	of := func(assertion string) string { return "assertions:\n- " + assertion + "\n" }
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "1:1: there are no assertions (hint: assertions: is a list of at least one)"},
		{"an empty list", "assertions: []", "1:1: there are no assertions (hint: assertions: is a list of at least one)"},
		{"no YAML", "assertions: [\n}", "1:1: this is not YAML: did not find expected node content"},
		{"a list", "- place", "1:1: the document must be a mapping, not a list"},
		{"two documents", of("{queue: root, expect: {maxapplications: 0}}") + "---\na: b\n",
			"3:1: there is a second document (hint: put all assertions into one document)"},
		{"a second document that is no YAML", of("{queue: root, expect: {maxapplications: 0}}") + "---\n}\n",
			"3:1: this is not YAML: did not find expected node content"},
		{"what follows the document is no YAML", of("{queue: root, expect: {maxapplications: 0}}") + "...\nqueue: [",
			"3:1: this is not YAML: did not find expected <document start>"},
		{"an unknown anchor in a second document", of("{queue: root, expect: {maxapplications: 0}}") + "---\na: *b\n",
			"1:1: this is not YAML: unknown anchor 'b' referenced"},
		{"an unknown key", "assertion: []", `1:1: unknown key "assertion" in the document (hint: did you mean "assertions"?)`},
		{"an unknown key of an assertion", of("{queu: root.a, expect: {max: {}}}"),
			`2:3: the assertion asks 0 questions (hint: it has one of place, queue, limit and work)` + "\n" +
				`2:4: unknown key "queu" in an assertion (hint: did you mean "queue"?)`},
		{"an unknown key far from all", of("{queue: root.a, expect: {zzzzz: 1, max: {vcore: 1}}}"),
			`2:28: unknown key "zzzzz" in expect of queue (hint: one of max, guaranteed, maxapplications)`},
		{"what another question expects", of("{queue: root.a, expect: {rule: user}}"),
			"2:27: nothing is expected (hint: one of max, guaranteed, maxapplications)\n" +
				`2:28: unknown key "rule" in expect of queue (hint: one of max, guaranteed, maxapplications)`},
		{"a key twice", of("{queue: root.a, queue: root.b, expect: {max: {vcore: 1}}}"), `2:19: "queue" is twice in an assertion`},
		{"two questions", of("{queue: root.a, place: {user: a}, expect: {max: {vcore: 1}}}"),
			"2:3: the assertion asks 2 questions (hint: it has one of place, queue, limit and work)"},
		{"no expectation", of("{queue: root.a}"), "2:3: the assertion expects nothing (hint: expect: says what must come out)"},
		{"not a mapping", of("root.a"), `2:3: an assertion must be a mapping, not "root.a"`},
		{"not a path", of("{queue: a, expect: {max: {vcore: 1}}}"),
			`2:11: queue must be the path of a queue, not "a" (hint: paths begin with root)`},
		{"a path that ends in dots", of("{limit: {queue: root.., user: a}, expect: {maxapplications: 0}}"),
			`2:19: queue must be the path of a queue, not "root.."` + legalPath},
		{"a path with a name left out", of("{work: [{queue: root.a..b, used: {vcore: 1}}], expect: {priorities: {root.: none}}}"),
			`2:19: queue must be the path of a queue, not "root.a..b"` + legalPath + "\n" +
				`2:72: a key of priorities must be the path of a queue, not "root."` + legalPath},
		{"a name that no queue can have", of("{queue: root.a b, expect: {maxapplications: 1}}"),
			`2:11: queue must be the path of a queue, not "root.a b"` + legalPath},
		{"a max of nothing", of("{queue: root.a, expect: {max: {}, guaranteed: {}}}"),
			"2:33: max is empty, so nothing is expected" + limitHint + "\n2:49: guaranteed is empty, so nothing is expected" + limitHint},
		{"a limit of nothing", of("{limit: {queue: root.a, user: a}, expect: {maxresources: {}}}"),
			"2:60: maxresources is empty, so nothing is expected" + limitHint},
		{"no priorities", of("{work: [{queue: root.a, used: {vcore: 1}}], expect: {priorities: {}}}"),
			"2:68: priorities is empty, so nothing is expected (hint: name a queue, and the priority it must show)"},
		{"a rejection for any reason", of("{place: {user: a}, expect: {rejected: ' '}}"),
			"2:41: rejected is empty, and would fit every reason (hint: a part of the reason)"},
		{"no user", of("{place: {queue: a}, expect: {queue: root.a}}"), "2:11: place has no user"},
		{"tags that are no texts", of("{place: {user: a, tags: {b: [c]}}, expect: {queue: root.a}}"), "2:31: tag b must be a text, not a list"},
		{"a flag that is none", of("{place: {user: a, forced: perhaps}, expect: {queue: root.a}}"), `2:29: forced must be true or false, not "perhaps"`},
		{"rejected, and something else", of("{place: {user: a}, expect: {queue: root.a, rejected: x}}"),
			"2:30: an application that is rejected has nothing else"},
		{"quantities that are none", of("{queue: root.a, cluster: {vcore: 1.5}, expect: {max: {memory: 5m}, guaranteed: {vcore: unlimited}}}"),
			`2:36: cluster "vcore": invalid quantity: "1.5"` + "\n" +
				`2:65: max "memory": invalid suffix "m" for memory: "5m" (hint: or the word "unlimited")` + "\n" +
				`2:82: a guarantee cannot be unlimited (hint: 0 is no guarantee)`},
		{"numbers out of range", of("{queue: root.a, expect: {maxapplications: -1}}"), `2:45: maxapplications must be a whole number that fits, not "-1"`},
		{"a limit of nobody", of("{limit: {queue: root.a}, expect: {group: ''}}"), "2:11: limit needs a queue, and either a user or a group"},
		{"a limit of a user and a group", of("{limit: {queue: root.a, user: a, group: b}, expect: {maxapplications: 1}}"),
			"2:11: limit needs a queue, and either a user or a group"},
		{"a limit of a group in groups", of("{limit: {queue: root.a, groups: [a], group: b}, expect: {maxapplications: 1}}"),
			"2:11: groups are those of a user; the limit is that of one group"},
		{"work without anything", of("{work: [{queue: root.a, priority: 99999999999}], expect: {order: [root.a, root.b]}}"),
			"2:11: an element of work needs a queue, and something pending or used\n" +
				`2:37: priority must be a whole number that fits, not "99999999999"`},
		{"no work", of("{work: [], expect: {order: [root.a, root.b]}}"), "2:10: work is empty"},
		{"an order of one", of("{work: [{queue: root.a, used: {vcore: 1}}], expect: {order: [root.a]}}"), "2:63: an order takes two queues or more"},
		{"an order within a queue", of("{work: [{queue: root.a, used: {vcore: 1}}], expect: {order: [root.a, root.A.b]}}"),
			"2:63: root.a and root.a.b cannot be in an order: one is part of the other"},
		{"an alias", "x: &a 1\n" + of("*a"), "1:1: unknown key \"x\" in the document (hint: one of partition, cluster, assertions)\n" +
			"3:3: an assertion must be a mapping, not an alias: write the value out where it is used"},
		{"a merge", of("{<<: {queue: root.a}, expect: {max: {vcore: 1}}}"),
			"2:3: the assertion asks 0 questions (hint: it has one of place, queue, limit and work)\n" +
				`2:4: a key of an assertion must be a text, not "<<"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, mistakes := ReadAssertions([]byte(c.text))
			var got []string
			for _, m := range mistakes {
				got = append(got, m.String())
			}
			assert.Equal(t, strings.Join(got, "\n"), c.want)
			assert.Equal(t, len(all.List), 0, "a file with mistakes says nothing")
		})
	}
}

func TestReadAssertions_BoundsMistakes(t *testing.T) {
	_, mistakes := ReadAssertions([]byte("assertions: [" + strings.Repeat("a,", 10_000) + "]"))
	assert.Equal(t, len(mistakes), maxMistakes)
}

// FuzzAssertions looks for a file that stops the program, and checks what can be read.
func FuzzAssertions(f *testing.F) {
	text, err := os.ReadFile("../../examples/tenants_test.yaml")
	assert.NilError(f, err)
	f.Add(text)
	f.Add([]byte("assertions: [{work: [{queue: root.open, used: {gpu: 1}}, {queue: root.x.y, user: admin, pending: {vcore: 1}}], expect: {order: [root.open, root.x]}}]"))
	f.Add([]byte("assertions: [{place: {user: admin, tags: {team: blue}}, cluster: {vcore: 9223372036854775807m}, expect: {max: {vcore: unlimited}}}]"))
	f.Add([]byte("partition: gpu\nassertions: [{queue: root, expect: {guaranteed: {vcore: 0}, maxapplications: 1}}]"))
	conf, problems := configs.Load([]byte(tenantsYAML))
	assert.Assert(f, conf != nil, problems)
	f.Fuzz(func(t *testing.T, text []byte) {
		all, mistakes := ReadAssertions(text)
		assert.Equal(t, len(all.List) == 0, len(mistakes) > 0)
		for _, m := range mistakes {
			assert.Assert(t, m.Line > 0 && m.Column > 0 && m.Message != "")
		}
		results, err := Check(conf, all)
		if err != nil {
			return
		}
		assert.Equal(t, len(results), len(all.List))
		again, err := Check(conf, all)
		assert.NilError(t, err)
		assert.DeepEqual(t, again, results)
	})
}
