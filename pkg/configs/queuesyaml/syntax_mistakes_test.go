package queuesyaml

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A frequent mistake is reported once, by its cause, and without its consequences (CFG-6, CFG-13).
func TestSyntaxMistakes_OneMessagePerCause(t *testing.T) {
	const head = "partitions:\n- name: default\n  queues:\n  - name: root\n    submitacl: '*'\n"
	for _, c := range []struct{ name, text, want string }{
		{"a tab in front of a key", strings.Replace(head, "    submitacl", "\tsubmitacl", 1),
			`5:1: error [yaml-syntax] the line is indented with a tab (hint: YAML allows only spaces for indentation)`},
		{"a tab after spaces", head + "    queues:\n    - name: a\n      resources:\n      \tmax: {vcore: 2}\n",
			`9:7: error [yaml-syntax] the line is indented with a tab (hint: YAML allows only spaces for indentation)`},
		{"a tab after a dash", head + "    queues:\n    -\tname: a\n     \tparent: true\n",
			`7:6: error [yaml-syntax] the line is indented with a tab (hint: YAML allows only spaces for indentation)`},
		{"one space too few", head + "   queues:\n    - name: a\n",
			`6:4: error [yaml-syntax] the line is indented to no open block (hint: it begins in column 4; the open blocks ` +
				`begin in column 1 or 3)`},
		{"too much indentation", head + "      queues:\n      - name: a\n",
			`6:7: error [yaml-syntax] the line is indented further than the one above, which has a value already (hint: begin ` +
				`it in column 1 or 3 or 5)`},
		{"queues at the level of partitions", "partitions:\n- name: default\nqueues:\n- name: root\n  submitacl: '*'\n",
			`3:1: error [yaml-unknown-key] unknown key "queues" in the document (hint: it belongs into a partition: indent it ` +
				`further; queues nest inside queues, and the first level is in a partition)`},
		{"an access list at the level of queues", strings.Replace(head, "    submitacl", "  submitacl", 1),
			`5:3: error [yaml-unknown-key] partition default: unknown key "submitacl" in a partition (hint: it belongs into a ` +
				`queue: indent it further)`},
		{"max at the level of resources", head + "    queues:\n    - name: a\n      resources:\n      max: {vcore: 2}\n",
			`9:7: error [yaml-unknown-key] root.a: unknown key "max" in a queue (hint: it belongs into "resources": indent it ` +
				`further)`},
		{"a quantity at the level of max",
			head + "    queues:\n    - name: a\n      resources:\n        max:\n        vcore: 2\n",
			`10:9: error [yaml-unknown-key] root.a: unknown key "vcore" in resources (hint: it belongs into "max" or ` +
				`"guaranteed": indent it further)`},
		{"a missing dash", strings.Replace(head, "  - name: root\n    submitacl", "    name: root\n    submitacl", 1),
			`4:5: error [yaml-type] partition default: queues must be a list, not a mapping (hint: put "- " in front of name, ` +
				`and indent the lines below as far)`},
		{"a missing dash and indentation",
			strings.Replace(head, "  - name: root\n    submitacl", "  name: root\n  submitacl", 1),
			`4:3: error [yaml-type] partition default: key "name" begins an element of "queues", which is a list (hint: write ` +
				`"- name", and indent the lines below as far as name)`},
		{"an extra dash", head + "    queues:\n    - name: a\n      resources:\n      - max: {vcore: 2}\n",
			`9:7: error [yaml-type] root.a: resources must be a mapping, not a list (hint: leave out the "- ")`},
		{"a misspelt submitacl", strings.Replace(head, "submitacl", "submitACL", 1),
			`5:5: error [yaml-unknown-key] root: unknown key "submitACL" in a queue (hint: did you mean "submitacl"?)`},
		{"a misspelt queues", strings.Replace(head, "  queues", "  queue", 1),
			`3:3: error [yaml-unknown-key] partition default: unknown key "queue" in a partition ` +
				`(hint: did you mean "queues"?)`},
		{"a misspelt partitions", strings.Replace(head, "partitions", "partition", 1),
			`1:1: error [yaml-unknown-key] unknown key "partition" in the document (hint: did you mean "partitions"?)`},
		{"a misspelt name", head + "    queues:\n    - Name: a\n",
			`7:7: error [yaml-unknown-key] root.?: unknown key "Name" in a queue (hint: did you mean "name"?)`},
		{"a misspelt users", head + "    limits:\n    - user: [ann]\n      maxapplications: 1\n",
			`7:7: error [yaml-unknown-key] root: unknown key "user" in a limit (hint: did you mean "users"?)`},
		{"users that are not a list", head + "    limits:\n    - users: ann\n      maxapplications: 1\n",
			`7:14: error [yaml-type] root: users must be a list, not the text "ann" (hint: write [ann])`},
		{"a max of Hadoop's fair scheduler", head + "    queues:\n    - name: a\n      maxResources: {vcore: 1}\n",
			`8:7: error [yaml-unknown-key] root.a: unknown key "maxResources" in a queue (hint: write "resources: {max: ` +
				`{vcore: ..., memory: ...}}")`},
		{"a priority of a queue", head + "    queues:\n    - name: a\n      priority: 5\n",
			`8:7: error [yaml-unknown-key] root.a: unknown key "priority" in a queue (hint: write "properties: ` +
				`{priority.offset: ...}", which is added to the priorities of the asks in the queue)`},
		{"a max of running applications", head + "    queues:\n    - name: a\n      maxRunningApps: 3\n",
			`8:7: error [yaml-unknown-key] root.a: unknown key "maxRunningApps" in a queue (hint: write maxapplications)`},
		{"a capacity in percent", head + "    queues:\n    - name: a\n      capacity: 60\n",
			`8:7: error [yaml-unknown-key] root.a: unknown key "capacity" in a queue (hint: write ` +
				`"resources: {guaranteed: {vcore: 40%, memory: 40%}, max: {vcore: 80%, memory: 80%}}", say)`},
		{"a template that was not rendered", strings.Replace(head, "'*'", "{{ .Values.acl }}", 1),
			`5:16: error [yaml-syntax] the text is a template, which was not rendered (hint: render it first, for example ` +
				`with "helm template", and read the result)`},
		{"a template that is no YAML", "{{- if .Values.queues }}\n" + head + "{{- end }}\n",
			`1:1: error [yaml-syntax] the text is a template, which was not rendered (hint: render it first, for example with ` +
				`"helm template", and read the result)`},
		{"a star without quotes", strings.Replace(head, "'*'", "*", 1),
			`5:16: error [yaml-syntax] a * without quotes is no text: YAML takes it for an alias (hint: write '*')`},
		{"a missing quote", strings.Replace(head, "'*'", "'*", 1),
			`5:16: error [yaml-syntax] the text in quotes that begins here has no end (hint: add a ')`},
		{"no space after a colon", strings.Replace(head, "submitacl: ", "submitacl:", 1) + "    queues:\n    - name: a\n",
			`5:14: error [yaml-syntax] there is no space behind the colon (hint: write key: value)`},
		{"a number in quotes", head + "    maxapplications: \"5\"\n",
			`6:22: error [yaml-type] root: maxapplications must be a whole number, zero or more, not the text "5" (hint: ` +
				`leave out the quotes)`},
		{"a boolean in quotes", head + "    parent: \"true\"\n",
			`6:13: error [yaml-type] root: parent must be true or false, not the text "true" (hint: leave out the quotes)`},
		{"an access list that is a list", strings.Replace(head, "'*'", "[ann, bob]", 1),
			`5:16: error [yaml-type] root: submitacl must be a text, not a list (hint: write users, one space, and groups, ` +
				`with commas between names: 'ann,bob dev,ops')`},
		{"a duplicate key", head + "    submitacl: ann\n",
			`6:5: error [yaml-duplicate-key] root: duplicate key "submitacl" in a queue (hint: the first one is in line 5)`},
		{"a max that is a number", head + "    queues:\n    - name: a\n      resources: {max: 10}\n",
			`8:24: error [yaml-type] root.a: max must be a mapping, not "10" (hint: write {vcore: 10}, or the resource that ` +
				`is meant)`},
		{"a max that is a text", head + "    queues:\n    - name: a\n      resources: {max: 'vcore=10'}\n",
			`8:24: error [yaml-type] root.a: max must be a mapping, not the text "vcore=10" (hint: write {vcore: 10, memory: ` +
				`20Gi}, say)`},
		{"partitions as a mapping", "partitions:\n  default:\n    queues: []\n",
			`2:3: error [yaml-type] partitions must be a list, not a mapping (hint: write "- name: default", and its keys at ` +
				`the indentation of name)`},
		{"a queue as a mapping", head + "    queues:\n    - a:\n        parent: true\n",
			`7:7: error [yaml-unknown-key] root.?: unknown key "a" in a queue (hint: write "name: a", and the keys below it ` +
				`at the same indentation)`},
		{"an access list with spaces", strings.Replace(head, "'*'", "ann, bob, eve", 1),
			`5:16: error [V7] root: submitacl "ann, bob, eve" has more than two lists (hint: a space ends the users and ` +
				`begins the groups; did you mean "ann,bob,eve"?)`},
		{"a misspelt queue in a placement rule",
			strings.Replace(head, "  queues", "  placementrules: [{name: fixed, value: root.defaul}]\n  queues",
				1) + "    queues: [{name: default}]\n",
			`3:41: error [V29] placementrules[0]: root has no queue "defaul" (hint: did you mean "default"?)`},
		{"a Kubernetes object of another kind", "apiVersion: apps/v1\nkind: Deployment\n",
			`1:1: error [configmap] the document is a Kubernetes object of kind "Deployment" (hint: a queues.yaml is ` +
				`expected, or a ConfigMap that has one in data.queues.yaml)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, problems := Load([]byte(c.text))
			assert.Equal(t, problems.Error(), c.want)
			assert.Assert(t, config == nil)
		})
	}
}

func TestQuantityHint_SuggestsTheProbableQuantity(t *testing.T) {
	for _, c := range []struct{ max, want string }{
		{"memory: 1.5Gi", "did you mean 1536Mi?"}, {"memory: 10GB", "did you mean 10G?"},
		{"memory: 10GiB", "did you mean 10Gi?"},
		{"memory: 512mb", "did you mean 512M?"}, {"memory: 8g", "did you mean 8G?"}, {"memory: 64K", "did you mean 64k?"},
		{"vcore: 0.5", "did you mean 500m?"}, {"vcore: 2.0", "did you mean 2?"},
		{"memory: 1e3", "a whole number, perhaps with one of k M G T P E Ki Mi Gi Ti Pi Ei"},
		{"memory: 500m", "only vcore has thousandths; did you mean M or Mi?"},
		{"memory: lots", "a whole number, perhaps with one of k M G T P E Ki Mi Gi Ti Pi Ei"},
		{"vcore: 1/3", "whole cores such as 2, or thousandths such as 500m"},
		{"vcore: 0.0001", "whole cores such as 2, or thousandths such as 500m"},
		{"memory: 99999999999G", "the largest is 2^63-1, for vcore in thousandths"},
	} {
		_, problems := Load([]byte(rootHead + "    queues: [{name: a, resources: {max: {" + c.max + "}}}]\n"))
		assert.Equal(t, len(problems), 1, c.max)
		assert.Equal(t, problems[0].RuleID, "quantity")
		assert.Equal(t, problems[0].Hint, c.want, c.max)
	}
}

// findIndentationMistake finds nothing in valid texts, whatever their indentation. Load calls it only
// after a parser error.
func TestSyntaxMistakes_NoneInValidTexts(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	assert.NilError(t, err)
	for _, name := range append(files, "testdata/production.yaml", "default.yaml") {
		assert.Assert(t, findIndentationMistake(strings.Split(readTestFile(t, name), "\n")) == nil, name)
	}
}

// The parser counts other line breaks than \n too, so the line of its error may not exist.
func TestSyntaxMistakes_OtherLineBreaks(t *testing.T) {
	for _, text := range []string{
		"# no\r\r\r\rn e: a e: b\n      x??queues:\n      ", "# a \r\r\r\rn: every gets a e: b\n  c:\n",
		"a: 1\u2028\u2028\u2028\u2028b: c: d", "\r\r\r\ra:\tb: c",
	} {
		_, problems := Load([]byte(text))
		assert.Assert(t, problems.HasErrors(), text)
	}
}
