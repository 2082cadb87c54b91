package offline

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// Hints about illegal paths and about empty quantities.
const (
	legalPath = " (hint: names of 1 to 64 letters, digits or any of _ : # / @ -, separated by dots)"
	limitHint = " (hint: name a resource and its expected quantity)"
)

func TestReadAssertions_MistakePositions(t *testing.T) {
	of := func(assertion string) string { return "assertions:\n- " + assertion + "\n" }
	for _, c := range []struct{ name, text, want string }{
		{"an empty text", "", "1:1: there are no assertions (hint: assertions: is a list of at least one assertion)"},
		{"an empty list", "assertions: []",
			"1:1: there are no assertions (hint: assertions: is a list of at least one assertion)"},
		{"not YAML", "assertions: [\n}",
			"2:1: did not find expected node content (hint: look for the mistake around this line)"},
		{"a list", "- place", `1:1: the document must be a mapping, not a list (hint: leave out the "- ")`},
		{"two documents", of("{queue: root, expect: {maxapplications: 0}}") + "---\na: b\n",
			"4:1: only the first document of the text is read (hint: remove the line --- above and the other documents)"},
		{"a second document that is not YAML", of("{queue: root, expect: {maxapplications: 0}}") + "---\n}\n",
			"1:1: only the first document of the text is read, and the rest is not YAML (hint: remove the rest)"},
		{"text after the document that is not YAML", of("{queue: root, expect: {maxapplications: 0}}") + "...\nqueue: [",
			"1:1: only the first document of the text is read, and the rest is not YAML (hint: remove the rest)"},
		{"an unknown anchor in a second document", of("{queue: root, expect: {maxapplications: 0}}") + "---\na: *b\n",
			"1:1: only the first document of the text is read, and the rest is not YAML (hint: remove the rest)"},
		{"an unknown key", "assertion: []",
			`1:1: unknown key "assertion" in the document (hint: did you mean "assertions"?)`},
		{"an unknown key of an assertion", of("{queu: root.a, expect: {max: {}}}"),
			`2:3: the assertion asks 0 questions (hint: it has one of place, queue, limit, work and settings)` + "\n" +
				`2:4: unknown key "queu" in an assertion (hint: did you mean "queue"?)`},
		{"an unknown key without a suggestion", of("{queue: root.a, expect: {zzzzz: 1, max: {vcore: 1}}}"),
			`2:28: unknown key "zzzzz" in expect of queue (hint: one of max, guaranteed, maxapplications, properties)`},
		{"an expectation of another question", of("{queue: root.a, expect: {rule: user}}"),
			"2:27: nothing is expected (hint: one of max, guaranteed, maxapplications, properties)\n" +
				`2:28: unknown key "rule" in expect of queue (hint: one of max, guaranteed, maxapplications, properties)`},
		{"properties that do not exist, or cannot be",
			of("{queue: root.a, expect: {properties: {runtime.max: 1h, runtime.maximum: 1h, runtime.enforce: yes}}}"),
			"2:58: there is no property runtime.maximum\n" +
				`2:96: property runtime.enforce cannot be "yes" (hint: it is true or false)`},
		{"a section that does not exist", of("{settings: backfill, expect: {backfill: off}}"),
			`2:14: a partition has no settings "backfill" (hint: one of preemption, reservation, fairness, noderefusal)`},
		{"settings that do not exist, or cannot be",
			of("{settings: reservation, expect: {backfil: off, backfill: on, timeout: 1, enabled: 5, backfillasks: x}}"),
			`2:36: unknown key "backfil" in expect of reservation (hint: did you mean "backfill"?)` + "\n" +
				`2:60: backfill must be off or bounded, not the text "on"` + "\n" +
				`2:73: timeout must be a time, such as 60m, not "1"` + "\n" +
				`2:85: enabled must be true or false, not "5"` + "\n" +
				`2:102: backfillasks must be a whole number within its range, not the text "x"`},
		{"no settings", of("{settings: reservation, expect: {}}"),
			"2:35: expect of settings is empty, so nothing is expected (hint: name a setting and its expected value)"},
		{"a duplicate key", of("{queue: root.a, queue: root.b, expect: {max: {vcore: 1}}}"),
			`2:19: duplicate key "queue" in an assertion (hint: the first one is in line 2)`},
		{"two questions", of("{queue: root.a, place: {user: a}, expect: {max: {vcore: 1}}}"),
			"2:3: the assertion asks 2 questions (hint: it has one of place, queue, limit, work and settings)"},
		{"no expectation", of("{queue: root.a}"),
			"2:3: the assertion expects nothing (hint: add expect: with the expected values)"},
		{"not a mapping", of("root.a"), `2:3: an assertion must be a mapping, not the text "root.a"`},
		{"not a path", of("{queue: a, expect: {max: {vcore: 1}}}"),
			`2:11: queue must be the path of a queue, not "a" (hint: paths begin with root)`},
		{"a path that ends in dots", of("{limit: {queue: root.., user: a}, expect: {maxapplications: 0}}"),
			`2:19: queue must be the path of a queue, not "root.."` + legalPath},
		{"a path with an empty name",
			of("{work: [{queue: root.a..b, used: {vcore: 1}}], expect: {priorities: {root.: none}}}"),
			`2:19: queue must be the path of a queue, not "root.a..b"` + legalPath + "\n" +
				`2:72: a key of priorities must be the path of a queue, not "root."` + legalPath},
		{"an illegal queue name", of("{queue: root.a b, expect: {maxapplications: 1}}"),
			`2:11: queue must be the path of a queue, not "root.a b"` + legalPath},
		{"empty max and guaranteed", of("{queue: root.a, expect: {max: {}, guaranteed: {}}}"),
			"2:33: max is empty, so nothing is expected" + limitHint + "\n2:49: guaranteed is empty, so nothing is expected" +
				limitHint},
		{"empty maxresources", of("{limit: {queue: root.a, user: a}, expect: {maxresources: {}}}"),
			"2:60: maxresources is empty, so nothing is expected" + limitHint},
		{"empty priorities", of("{work: [{queue: root.a, used: {vcore: 1}}], expect: {priorities: {}}}"),
			"2:68: priorities is empty, so nothing is expected (hint: name a queue and its expected priority)"},
		{"an empty rejected", of("{place: {user: a}, expect: {rejected: ' '}}"),
			"2:41: rejected is empty, and would match every reason (hint: a part of the reason)"},
		{"no user", of("{place: {queue: a}, expect: {queue: root.a}}"), "2:11: place has no user"},
		{"tags that are not texts", of("{place: {user: a, tags: {b: [c]}}, expect: {queue: root.a}}"),
			"2:31: tag b must be a text, not a list"},
		{"a flag that is not a boolean", of("{place: {user: a, forced: perhaps}, expect: {queue: root.a}}"),
			`2:29: forced must be true or false, not the text "perhaps"`},
		{"rejected with another expectation", of("{place: {user: a}, expect: {queue: root.a, rejected: x}}"),
			"2:30: a rejected application has no queue, so rejected must be the only key of expect"},
		{"malformed quantities",
			of("{queue: root.a, cluster: {vcore: 1.5}, expect: {max: {memory: 5m}, guaranteed: {vcore: unlimited}}}"),
			`2:36: cluster "vcore": invalid quantity: "1.5"` + "\n" +
				`2:65: max "memory": invalid suffix "m" for memory: "5m" (hint: or the word "unlimited")` + "\n" +
				`2:82: a guarantee cannot be unlimited (hint: 0 is no guarantee)`},
		{"numbers out of range", of("{queue: root.a, expect: {maxapplications: -1}}"),
			`2:45: maxapplications must be a whole number within its range, not "-1"`},
		{"a limit without user and group", of("{limit: {queue: root.a}, expect: {group: ''}}"),
			"2:11: limit needs a queue, and either a user or a group"},
		{"a limit of a user and a group", of("{limit: {queue: root.a, user: a, group: b}, expect: {maxapplications: 1}}"),
			"2:11: limit needs a queue, and either a user or a group"},
		{"a limit of a group with groups",
			of("{limit: {queue: root.a, groups: [a], group: b}, expect: {maxapplications: 1}}"),
			"2:11: groups are for a limit of a user; a limit of a group has none"},
		{"work without pending and used",
			of("{work: [{queue: root.a, priority: 99999999999}], expect: {order: [root.a, root.b]}}"),
			"2:11: an element of work needs a queue, and something pending or used\n" +
				`2:37: priority must be a whole number within its range, not "99999999999"`},
		{"no work", of("{work: [], expect: {order: [root.a, root.b]}}"), "2:10: work is empty"},
		{"an order of one queue", of("{work: [{queue: root.a, used: {vcore: 1}}], expect: {order: [root.a]}}"),
			"2:63: order needs two queues or more"},
		{"an order of a queue and its child",
			of("{work: [{queue: root.a, used: {vcore: 1}}], expect: {order: [root.a, root.A.b]}}"),
			"2:63: root.a and root.a.b cannot be compared: one contains the other"},
		{"an alias", "x: &a 1\n" + of("*a"),
			"1:1: unknown key \"x\" in the document (hint: one of partition, cluster, assertions)\n" +
				"1:4: anchor \"&a\" is not allowed (hint: write the value out where it is used)\n" +
				"3:3: alias \"*a\" is not allowed (hint: write the value out where it is used)"},
		{"empty quantities", of("{queue: root.a, cluster: {vcore: ''}, expect: {max: {vcore: ''}}}"),
			`2:36: cluster "vcore": invalid quantity: ""` + "\n" +
				`2:63: max "vcore": invalid quantity: "" (hint: or the word "unlimited")`},
		{"nulls", of("{queue: root.a, name: , expect: {max: , guaranteed: {vcore: }}}"),
			"2:25: name must be a text, not nothing\n2:41: max must be a mapping, not nothing\n" +
				"2:63: guaranteed vcore must be a text, not nothing"},
		{"a merge", of("{<<: {queue: root.a}, expect: {max: {vcore: 1}}}"),
			"2:3: the assertion asks 0 questions (hint: it has one of place, queue, limit, work and settings)\n" +
				`2:4: merge key << is not allowed (hint: write the value out where it is used)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, mistakes := ReadAssertions([]byte(c.text))
			var got []string
			for _, m := range mistakes {
				got = append(got, m.String())
			}
			assert.Equal(t, strings.Join(got, "\n"), c.want)
			assert.Equal(t, len(all.List), 0, "a file with mistakes has no assertions")
		})
	}
}

func TestReadAssertions_BoundsMistakes(t *testing.T) {
	_, mistakes := ReadAssertions([]byte("assertions: [" + strings.Repeat("a,", 10_000) + "]"))
	assert.Equal(t, len(mistakes), maxMistakes)
}

// FuzzAssertions checks that no file stops the program, and that Check of a readable file is repeatable.
func FuzzAssertions(f *testing.F) {
	text, err := os.ReadFile("../../../examples/tenants_test.yaml")
	assert.NilError(f, err)
	f.Add(text)
	f.Add([]byte("assertions: [{work: [{queue: root.open, used: {gpu: 1}}, {queue: root.x.y, user: admin, pending: " +
		"{vcore: 1}}], expect: {order: [root.open, root.x]}}]"))
	f.Add([]byte("assertions: [{place: {user: admin, tags: {team: blue}}, cluster: {vcore: 9223372036854775807m}, " +
		"expect: {max: {vcore: unlimited}}}]"))
	f.Add([]byte("partition: gpu\nassertions: [{queue: root, expect: {guaranteed: {vcore: 0}, maxapplications: 1}}]"))
	conf, problems := queuesyaml.Load([]byte(tenantsYAML))
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
